# Script: prints the size of FILE and fails above LIMIT bytes, removing it so
# that the next build says so again.
file(SIZE ${FILE} size)
message("${NAME}: ${size} bytes (limit ${LIMIT})")
if(size GREATER LIMIT)
  file(REMOVE ${FILE})
  message(FATAL_ERROR "${NAME} is over its budget of ${LIMIT} bytes")
endif()
