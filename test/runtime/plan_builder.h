// Makes plan files for tests with the official flatbuffers library, so that
// the runtime's reader is tested against another implementation.
#ifndef STINT_TEST_RUNTIME_PLAN_BUILDER_H
#define STINT_TEST_RUNTIME_PLAN_BUILDER_H

#include "plan_generated.h"
#include "runtime/schema/plan_file.h"
#include "runtime/schema/version.h"
#include "stint/stint.h"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace stint::test {

namespace fb = ::stint::plan;

// Bytes aligned as stint_model_open_memory wants them, with nothing readable
// behind them that a sanitizer wouldn't see.
class AlignedBytes {
public:
  explicit AlignedBytes(const std::vector<uint8_t> &bytes);
  uint8_t *data() const { return memory.get(); }
  size_t size() const { return count; }

private:
  std::unique_ptr<uint8_t, void (*)(void *)> memory;
  size_t count;
};

struct SectionBytes {
  uint32_t kind;
  std::vector<uint8_t> bytes;
};

// The kernels of kernels.c.
std::vector<uint8_t> kernelCode();

// A plan with symbol n in 1..64, inputs x, y and output z of f32[n]:
//   t = x + y (arena);  z = t + w (weight, f32[64], w[i] = i)
// Registers: 0 n, 1 four, 2 bytes of [n], 3 one, 4 tile 8, 5 bytes of w.
// Buffers: 0 x, 1 y, 2 z, 3 w, 4 t. Profiles for n <= 8 and n <= 64.
std::unique_ptr<fb::PlanT> addPlan();
// Its sections: 0 code, 1 weights.
std::vector<SectionBytes> addSections();

// One instruction of a program.
fb::Instruction instruction(fb::Opcode opcode, uint32_t dst, uint32_t a, uint32_t b, int64_t imm = 0);

// The flatbuffer alone.
std::vector<uint8_t> packPlan(const fb::PlanT &plan);
// The whole file, all hashes right.
std::vector<uint8_t> makeFile(const std::vector<uint8_t> &flatbuffer, const std::vector<SectionBytes> &sections);
// Makes the hashes of a changed file right again: plan and root.
void rehash(std::vector<uint8_t> *file);

// A model from bytes in memory that live as long; null (with status) if it
// doesn't open.
struct Opened {
  explicit Opened(const std::vector<uint8_t> &file, const stint_model_options *options = nullptr);
  Opened(const fb::PlanT &plan, const std::vector<SectionBytes> &sections, const stint_model_options *options = nullptr)
      : Opened(makeFile(packPlan(plan), sections), options) {}
  ~Opened() { stint_model_release(model); }
  AlignedBytes bytes;
  stint_model *model = nullptr;
  stint_status status;
};

std::string text(const stint_status &status, const stint_model *model = nullptr);

// Fails the test with the status's text unless it is OK.
#define EXPECT_OK(expression)                                                                                          \
  do {                                                                                                                 \
    stint_status status_ = (expression);                                                                               \
    EXPECT_EQ(status_.code, STINT_OK) << stint::test::text(status_);                                                   \
  } while (false)

} // namespace stint::test

#endif
