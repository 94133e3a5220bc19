# stint_bitcode(SOURCES… OUT variable)
#
# Freestanding C++ to LLVM bitcode for every machine that kernels are made for,
# embedded: <stem>-<machine>.inc holds the bytes of each, Bitcode.inc the table
# of all, as {stem, machine, bytes, size}, both in the current binary folder.
# The compiler must be that of the LLVM which reads the bitcode. Its
# optimisations are those of any machine: what a variant has besides, code
# generation uses. Loops are vectorised only where the source asks for it.
set(STINT_BITCODE_FLAGS -std=c++17 -O2 -g0 -emit-llvm -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -ffreestanding -fno-builtin -nostdinc++
  -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-stack-protector -fno-asynchronous-unwind-tables
  -fno-unwind-tables -fomit-frame-pointer -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC
  -fvisibility=hidden -Wall -Wextra)

function(stint_bitcode)
  cmake_parse_arguments(arg "" "OUT" "SOURCES" ${ARGN})
  find_program(STINT_BITCODE_CLANG clang++-19 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
  set(arrays "")
  set(rows "")
  set(outputs "")
  foreach(source ${arg_SOURCES})
    get_filename_component(stem ${source} NAME_WE)
    foreach(machine x86_64 aarch64)
      set(bitcode ${CMAKE_CURRENT_BINARY_DIR}/${stem}-${machine}.bc)
      set(bytes ${CMAKE_CURRENT_BINARY_DIR}/${stem}-${machine}.inc)
      add_custom_command(OUTPUT ${bytes}
        COMMAND ${STINT_BITCODE_CLANG} --target=${machine}-unknown-linux-gnu ${STINT_BITCODE_FLAGS}
                -I${PROJECT_SOURCE_DIR} -MD -MF ${bitcode}.d -MT ${bytes}
                -c ${CMAKE_CURRENT_SOURCE_DIR}/${source} -o ${bitcode}
        COMMAND ${CMAKE_COMMAND} -DFILE=${bitcode} -DOUT=${bytes}
                -P ${PROJECT_SOURCE_DIR}/compiler/cmake/EmbedFile.cmake
        DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${PROJECT_SOURCE_DIR}/compiler/cmake/EmbedFile.cmake
        DEPFILE ${bitcode}.d COMMENT "Bitcode of ${stem} for ${machine}" VERBATIM)
      list(APPEND outputs ${bytes})
      string(APPEND arrays "static const unsigned char k${stem}_${machine}[] = {\n#include \"${bytes}\"\n};\n")
      string(APPEND rows "  {\"${stem}\", \"${machine}\", k${stem}_${machine}, sizeof k${stem}_${machine}},\n")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/Bitcode.inc
    CONTENT "${arrays}static const Bitcode kBitcode[] = {\n${rows}};\n")
  set(${arg_OUT} ${outputs} PARENT_SCOPE)
endfunction()
