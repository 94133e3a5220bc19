# Script: prints how many lines the runtime's core has and fails above LIMIT.
# Counted: every source and header under ROOT but the schema (shared with the
# compiler) and generation (its own budget).
file(GLOB_RECURSE files ${ROOT}/*.h ${ROOT}/*.hpp ${ROOT}/*.cpp)
set(total 0)
foreach(file ${files})
  if(file MATCHES "/runtime/(schema|generation|include)/")
    continue()
  endif()
  file(READ ${file} text)
  string(REGEX MATCHALL "\n" newlines "${text}")
  list(LENGTH newlines count)
  math(EXPR total "${total} + ${count}")
endforeach()
message("runtime core: ${total} lines (limit ${LIMIT})")
if(total GREATER LIMIT)
  message(FATAL_ERROR "the runtime's core is over its budget of ${LIMIT} lines")
endif()
