# stint_add_device_binary(NAME MACHINE SOURCES…)
#
# A static binary for a device: the given sources and the whole runtime,
# compiled by clang-19 against musl for MACHINE (x86_64 or aarch64), whatever
# compiler and machine the rest of the build uses. It needs clang-19, lld-19,
# libstdc++'s headers (only those of the allowed subset are included), musl-dev
# and libgcc. musl for AArch64 comes from STINT_AARCH64_SYSROOT, a folder that
# tools/get-aarch64-sysroot makes; without it such binaries are skipped with a
# message.
#
# The link has no C++ library to offer, so it fails on any of its symbols. The
# build prints the size and fails above STINT_DEVICE_BINARY_LIMIT bytes.
set(STINT_DEVICE_BINARY_LIMIT 204800)
set(STINT_AARCH64_SYSROOT "$ENV{STINT_AARCH64_SYSROOT}" CACHE PATH
  "Folder with musl for AArch64, made by tools/get-aarch64-sysroot")

# Sets OUT_include, OUT_lib (musl) and OUT_libgcc; empty where missing.
function(stint_find_musl machine out)
  set(root "")
  if(machine STREQUAL "aarch64")
    set(root "${STINT_AARCH64_SYSROOT}")
    if(NOT root)
      set(root ${PROJECT_BINARY_DIR}/aarch64-sysroot)
    endif()
    if(CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL machine AND NOT EXISTS ${root})
      set(root "")
    endif()
  endif()
  file(GLOB libgcc /usr/lib/gcc/${machine}-linux-gnu/*/libgcc.a
    /usr/lib/gcc-cross/${machine}-linux-gnu/*/libgcc.a)
  if(libgcc)
    list(GET libgcc -1 libgcc)
  endif()
  set(include ${root}/usr/include/${machine}-linux-musl)
  set(lib ${root}/usr/lib/${machine}-linux-musl)
  if(NOT EXISTS ${include}/stdio.h OR NOT EXISTS ${lib}/libc.a)
    set(include "")
  endif()
  set(${out}_include "${include}" PARENT_SCOPE)
  set(${out}_lib "${lib}" PARENT_SCOPE)
  set(${out}_libgcc "${libgcc}" PARENT_SCOPE)
endfunction()

function(stint_add_device_binary name machine)
  find_program(STINT_DEVICE_CLANG clang++-19)
  find_program(STINT_DEVICE_LLD ld.lld-19)
  file(GLOB cxx /usr/include/c++/[0-9]*)
  file(GLOB cxx_config /usr/include/*-linux-gnu/c++/[0-9]*)
  stint_find_musl(${machine} musl)
  if(NOT STINT_DEVICE_CLANG OR NOT STINT_DEVICE_LLD OR NOT cxx OR NOT cxx_config)
    message(STATUS "${name}: skipped, needs clang-19, lld-19 and libstdc++'s headers")
    return()
  endif()
  if(NOT musl_include OR NOT musl_libgcc)
    message(STATUS "${name}: skipped, no musl or libgcc for ${machine} "
      "(musl-dev; for AArch64 run tools/get-aarch64-sysroot and set STINT_AARCH64_SYSROOT)")
    return()
  endif()
  list(GET cxx -1 cxx)
  list(GET cxx_config -1 cxx_config)
  execute_process(COMMAND ${STINT_DEVICE_CLANG} -print-resource-dir
    OUTPUT_VARIABLE resources OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)

  set(flags --target=${machine}-linux-musl -std=c++17 -O2 -Wall -Wextra
    -Wno-unused-parameter -nostdinc -nostdinc++ -fno-exceptions -fno-rtti
    -fno-threadsafe-statics -fno-asynchronous-unwind-tables -fno-stack-protector
    -fvisibility=hidden -ffunction-sections -fdata-sections -ffp-contract=off
    "-D__GLIBC_PREREQ(a,b)=0" -D_GNU_SOURCE
    -isystem ${cxx} -isystem ${cxx_config} -isystem ${musl_include}
    -isystem ${resources}/include
    -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/runtime/include)
  get_property(runtime GLOBAL PROPERTY STINT_RUNTIME_SOURCES)
  set(objects "")
  foreach(source ${ARGN} ${runtime})
    file(RELATIVE_PATH stem ${PROJECT_SOURCE_DIR} ${source})
    string(REPLACE "/" "_" stem ${stem})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir/${stem}.o)
    # What runs once a run or a token, and not once an element, is made small.
    set(size "")
    if(NOT stem MATCHES "^runtime_(base|core|devices|threads)|sampler")
      set(size -Os)
    endif()
    add_custom_command(OUTPUT ${object}
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${STINT_DEVICE_CLANG} ${flags} ${size}
              -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} DEPFILE ${object}.d
      COMMENT "Compiling ${stem} for ${machine}" VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir)

  set(binary ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  add_custom_command(OUTPUT ${binary}
    COMMAND ${STINT_DEVICE_LLD} -static --gc-sections --icf=safe -s -z noexecstack
            -o ${binary} ${musl_lib}/crt1.o ${musl_lib}/crti.o ${objects}
            --start-group ${musl_lib}/libc.a ${musl_libgcc} --end-group ${musl_lib}/crtn.o
    COMMAND ${CMAKE_COMMAND} -DFILE=${binary} -DNAME=${name}
            -DLIMIT=${STINT_DEVICE_BINARY_LIMIT}
            -P ${PROJECT_SOURCE_DIR}/compiler/cmake/CheckSize.cmake
    DEPENDS ${objects} COMMENT "Linking ${name}" VERBATIM)
  file(MAKE_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
  add_custom_target(${name}-device ALL DEPENDS ${binary})
endfunction()
