# stint_passes(NAME TD SOURCES … [LINK …])
#
# Generates declarations and base classes of the passes in a .td file as
# "passes/<Stem>.h.inc" and builds the library.
function(stint_passes name td)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  get_filename_component(stem ${td} NAME_WE)
  set(LLVM_TARGET_DEFINITIONS ${td})
  include_directories(${PROJECT_SOURCE_DIR} ${MLIR_INCLUDE_DIRS})
  mlir_tablegen(${stem}.h.inc -gen-pass-decls -name Stint)
  add_public_tablegen_target(${name}Generated)
  add_library(${name} STATIC ${ARG_SOURCES})
  add_dependencies(${name} ${name}Generated)
  target_link_libraries(${name} PUBLIC stint_compiler_base ${ARG_LINK})
endfunction()
