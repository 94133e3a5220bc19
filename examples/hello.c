/* Runs a compiled model from C: opens a plan, fills its only input, prints the
 * first numbers of its first output. Copy it, link libstint.
 *
 *   cc hello.c -I runtime/include build/lib/libstint.a -lpthread -o hello
 *   ./hello model.stint 1 224 224 3      (the shape of the input)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "stint/stint.h"

static void check(stint_status status, const stint_model *model) {
  char text[256];
  if (status.code == STINT_OK)
    return;
  stint_status_format(&status, model, text, sizeof text);
  fprintf(stderr, "hello: %s\n", text);
  exit(1);
}

int main(int argc, char **argv) {
  stint_model *model = NULL;
  stint_session *session = NULL;
  stint_tensor input = {.size = sizeof input}, output = {.size = sizeof output};
  int64_t shape[STINT_MAX_RANK];
  uint32_t rank = 0;
  if (argc < 2 || argc > 2 + STINT_MAX_RANK)
    return fprintf(stderr, "usage: hello MODEL.stint DIMENSION...\n"), 2;
  for (int i = 2; i < argc; ++i)
    shape[rank++] = strtoll(argv[i], NULL, 10);

  check(stint_model_open_file(argv[1], NULL, &model), NULL);
  check(stint_session_create(model, NULL, &session), model);
  check(stint_session_set_input_shape(session, 0, rank, shape), model);
  check(stint_session_input(session, 0, &input), model);
  for (uint64_t i = 0; i < input.bytes / sizeof(float); ++i)
    ((float *)input.data)[i] = (float)(i % 7) - 3; /* your data goes here */
  check(stint_session_run(session, NULL), model);
  check(stint_session_output(session, 0, &output), model);
  for (uint64_t i = 0; i < output.bytes / sizeof(float) && i < 8; ++i)
    printf("%g\n", ((const float *)output.data)[i]);
  stint_session_destroy(session);
  stint_model_release(model);
  return 0;
}
