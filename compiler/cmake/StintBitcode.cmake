# stint_bitcode(SOURCES… [VERSIONED sources…] OUT variable)
#
# Freestanding C++ to LLVM bitcode for every machine that kernels are made for,
# embedded: <stem>-<machine>.inc holds the bytes of each, Bitcode.inc the table
# of all, as {stem, machine, bytes, size}, both in the current binary folder.
# The compiler must be that of the LLVM which reads the bitcode. Its
# optimisations are those of any machine: what a variant has besides, code
# generation uses. Of VERSIONED sources there is one more for each set of features
# in STINT_BITCODE_VERSIONS, which the source sees as the compiler's macros; its
# machine is called <machine>_<version>, see Bitcode.cpp. Loops are vectorised only where the source asks for it.
set(STINT_BITCODE_FLAGS -std=c++17 -O2 -g0 -emit-llvm -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -ffreestanding -fno-builtin -nostdinc++
  -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-stack-protector -fno-asynchronous-unwind-tables
  -fno-unwind-tables -fomit-frame-pointer -ffp-contract=off -fno-math-errno -fno-trapping-math -fPIC
  -fvisibility=hidden -Wall -Wextra -Wno-psabi)
set(STINT_BITCODE_VERSIONS x86_64_avx2 x86_64_avx512 x86_64_vnni aarch64_dotprod aarch64_i8mm)
set(STINT_BITCODE_FLAGS_x86_64_avx2 -mavx2 -mfma -mf16c)
set(STINT_BITCODE_FLAGS_x86_64_avx512 ${STINT_BITCODE_FLAGS_x86_64_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(STINT_BITCODE_FLAGS_x86_64_vnni ${STINT_BITCODE_FLAGS_x86_64_avx512} -mavx512vnni)
set(STINT_BITCODE_FLAGS_aarch64_dotprod -march=armv8.2-a+dotprod)
set(STINT_BITCODE_FLAGS_aarch64_i8mm -march=armv8.2-a+dotprod+i8mm)

function(stint_bitcode)
  cmake_parse_arguments(arg "" "OUT" "SOURCES;VERSIONED" ${ARGN})
  find_program(STINT_BITCODE_CLANG clang++-19 HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
  set(arrays "")
  set(rows "")
  set(outputs "")
  foreach(source ${arg_SOURCES} ${arg_VERSIONED})
    get_filename_component(stem ${source} NAME_WE)
    set(machines x86_64 aarch64)
    if(source IN_LIST arg_VERSIONED)
      list(APPEND machines ${STINT_BITCODE_VERSIONS})
    endif()
    foreach(machine ${machines})
      string(REGEX MATCH "^x86_64|^aarch64" processor ${machine})
      set(bitcode ${CMAKE_CURRENT_BINARY_DIR}/${stem}-${machine}.bc)
      set(bytes ${CMAKE_CURRENT_BINARY_DIR}/${stem}-${machine}.inc)
      add_custom_command(OUTPUT ${bytes}
        COMMAND ${STINT_BITCODE_CLANG} --target=${processor}-unknown-linux-gnu ${STINT_BITCODE_FLAGS} ${STINT_BITCODE_FLAGS_${machine}}
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
