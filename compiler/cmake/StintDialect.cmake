# stint_dialect(Graph OPS GraphOps.td SOURCES … [LINK …])
#
# Generates the declarations and definitions of a dialect from its .td files
# and builds the library Stint<Name>. Generated files are included as
# "dialects/<Name>/<Name>Ops.h.inc" and so on.
function(stint_dialect name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  include_directories(${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${STINT_DIALECT_NAMESPACE})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${STINT_DIALECT_NAMESPACE})
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls)
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs)
  mlir_tablegen(${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${STINT_DIALECT_NAMESPACE})
  mlir_tablegen(${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${STINT_DIALECT_NAMESPACE})
  mlir_tablegen(${name}Attributes.h.inc -gen-attrdef-decls -attrdefs-dialect=${STINT_DIALECT_NAMESPACE})
  mlir_tablegen(${name}Attributes.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${STINT_DIALECT_NAMESPACE})
  mlir_tablegen(${name}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs)
  add_public_tablegen_target(Stint${name}Generated)
  add_library(Stint${name} STATIC ${ARG_SOURCES})
  add_dependencies(Stint${name} Stint${name}Generated)
  target_link_libraries(Stint${name} PUBLIC stint_compiler_base ${ARG_LINK})
endfunction()
