// Which variant runs: the last one this machine has, a forced one, none; and
// kernels linked into the application.
#include "plan_builder.h"

#include "runtime/platform/platform.h"
#include "runtime/schema/kernel_abi.h"

#include <gtest/gtest.h>

using namespace stint;
using namespace stint::test;

namespace {

// addPlan with more variants behind "base", same code.
std::unique_ptr<fb::PlanT> manyVariants() {
  auto plan = addPlan();
  auto add = [&](const char *name, std::vector<uint16_t> features) {
    plan->variants.push_back(std::make_unique<fb::VariantT>(*plan->variants[0]));
    plan->variants.back()->name = name;
    plan->variants.back()->features = std::move(features);
  };
  add("same", {});
  add("future", {255});   // no such feature
  add("beyond", {60000}); // no such id
  add("abi", {});
  plan->variants.back()->kernel_abi = 2;
  add("foreign", {});
  plan->variants.back()->machine =
      plan->variants[0]->machine == fb::Machine_x86_64 ? fb::Machine_aarch64 : fb::Machine_x86_64;
  return plan;
}

std::string chosen(const stint_model *model) {
  for (uint32_t i = 0; i < stint_model_variant_count(model); ++i) {
    stint_variant_info info = {};
    info.size = sizeof(info);
    EXPECT_OK(stint_model_variant(model, i, &info));
    if (info.chosen)
      return info.name;
  }
  return "";
}

int32_t ours(const stint_dispatch *dispatch, const stint_workgroup *group) {
  for (int64_t i = group->begin[0]; i < group->end[0]; ++i)
    static_cast<float *>(dispatch->buffers[dispatch->buffer_count - 1].data)[i] = 42.f;
  return 0;
}

} // namespace

TEST(Variant, TheLastAvailableIsTaken) {
  Opened opened(*manyVariants(), addSections());
  EXPECT_OK(opened.status);
  EXPECT_EQ(chosen(opened.model), "same");
}

TEST(Variant, Forced) {
  struct {
    const char *name;
    int32_t code;
  } cases[] = {{"base", STINT_OK},
               {"future", STINT_STATUS_UNSUPPORTED},
               {"beyond", STINT_STATUS_UNSUPPORTED},
               {"abi", STINT_STATUS_UNSUPPORTED},
               {"foreign", STINT_STATUS_UNSUPPORTED},
               {"nothing", STINT_STATUS_NOT_FOUND}};
  for (auto &c : cases) {
    stint_model_options options = {};
    options.size = sizeof(options);
    options.variant = c.name;
    Opened opened(*manyVariants(), addSections(), &options);
    EXPECT_EQ(opened.status.code, c.code) << c.name << text(opened.status);
    if (opened.model) {
      EXPECT_EQ(chosen(opened.model), c.name);
    }
  }
}

TEST(Variant, NoneForThisMachine) {
  auto plan = addPlan();
  plan->variants[0]->features = {255};
  Opened opened(*plan, addSections());
  EXPECT_EQ(opened.status.code, STINT_STATUS_UNSUPPORTED);
  stint_model_options options = {};
  options.size = sizeof(options);
  options.variant = "none";
  Opened bare(*plan, addSections(), &options);
  EXPECT_OK(bare.status);
  stint_session *session = nullptr;
  EXPECT_EQ(stint_session_create(bare.model, nullptr, &session).code, STINT_STATUS_UNSUPPORTED);
}

TEST(Variant, DamagedCodeIsRefused) {
  auto sections = addSections();
  std::vector<uint8_t> file = makeFile(packPlan(*addPlan()), sections);
  file[STINT_SECTION_ALIGNMENT + 5] ^= 1;
  Opened opened(file);
  EXPECT_EQ(opened.status.code, STINT_STATUS_MALFORMED);
}

TEST(Variant, StaticKernelsByHash) {
  auto plan = addPlan();
  std::vector<stint_static_kernel> table(plan->kernels.size());
  for (size_t i = 0; i < table.size(); ++i) {
    plan->kernels[i]->hash.assign(32, static_cast<uint8_t>(i + 1));
    memset(table[i].hash, static_cast<int>(i + 1), 32);
    table[i].function = ours;
  }
  stint_model_options options = {};
  options.size = sizeof(options);
  options.static_kernels = table.data();
  options.static_kernel_count = table.size();
  Opened opened(*plan, addSections(), &options);
  EXPECT_OK(opened.status);
  stint_session *session = nullptr;
  EXPECT_OK(stint_session_create(opened.model, nullptr, &session));
  int64_t n = 2;
  float x[2] = {}, z[2] = {};
  EXPECT_OK(stint_session_bind_input(session, 0, x, 8, 1, &n));
  EXPECT_OK(stint_session_bind_input(session, 1, x, 8, 1, &n));
  EXPECT_OK(stint_session_bind_output(session, 0, z, 8));
  EXPECT_OK(stint_session_run(session, nullptr));
  EXPECT_EQ(z[1], 42.f);
  stint_session_destroy(session);
  options.static_kernel_count = 2;
  Opened missing(*plan, addSections(), &options);
  EXPECT_EQ(missing.status.code, STINT_STATUS_NOT_FOUND);
}

TEST(Variant, CpuInfoIsOfThisMachine) {
  platform::CpuInfo info = platform::cpuInfo();
#if defined(__x86_64__)
  EXPECT_EQ(info.machine, 1);
  EXPECT_EQ(info.has(8), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(info.has(7), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(info.has(3), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(info.has(13), __builtin_cpu_supports("avx512f") != 0);
#elif defined(__aarch64__)
  EXPECT_EQ(info.machine, 2);
#endif
  EXPECT_FALSE(info.has(300));
}
