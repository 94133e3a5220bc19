# One precompiled header for the compiler and its tests: reading MLIR's headers
# is most of compiling a file. Included last, when all targets exist.
file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cpp "")
add_library(stint_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
target_link_libraries(stint_precompiled PRIVATE stint_compiler_base)
target_compile_options(stint_precompiled PUBLIC "SHELL:-Xclang -fno-pch-timestamp")
target_precompile_headers(stint_precompiled PRIVATE
  <mlir/Dialect/Arith/IR/Arith.h> <mlir/Dialect/Func/IR/FuncOps.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
  <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h> <llvm/ADT/StringExtras.h> <llvm/Support/FormatVariadic.h>
  <map> <string> <vector>)

function(stint_use_precompiled folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    get_target_property(libraries ${target} LINK_LIBRARIES)
    if(type MATCHES "LIBRARY|EXECUTABLE" AND libraries MATCHES "(^|;)(Stint[A-Z]|stint_compiler_base)"
       AND NOT target STREQUAL stint_precompiled)
      target_precompile_headers(${target} REUSE_FROM stint_precompiled)
      # Executables are -fPIE otherwise, which differs from the header.
      target_compile_options(${target} PRIVATE -fPIC "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endforeach()
  get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(subfolder ${subfolders})
    stint_use_precompiled(${subfolder})
  endforeach()
endfunction()
foreach(part dialects passes compiler test/compiler)
  if(part STREQUAL "test/compiler" AND NOT STINT_BUILD_TESTS)
    continue()
  endif()
  stint_use_precompiled(${PROJECT_SOURCE_DIR}/${part})
endforeach()
