// Sessions end to end: binding, shapes, profiles, devices, memory of the
// caller's, status texts.
#include "plan_builder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace stint;
using namespace stint::test;

namespace {

template <typename T> T sized() {
  T value = {};
  value.size = sizeof(T);
  return value;
}

// A session of addPlan, or of a plan made from it.
struct AddSession {
  explicit AddSession(const stint_session_options *options = nullptr) : opened(*addPlan(), addSections()) {
    EXPECT_OK(opened.status);
    status = stint_session_create(opened.model, options, &session);
  }
  ~AddSession() { stint_session_destroy(session); }

  // x[i] = i, y[i] = 10 i: the answer is 12 i.
  void bind(int64_t n) {
    x.resize(static_cast<size_t>(n));
    y.resize(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i);
      y[i] = static_cast<float>(10 * i);
    }
    EXPECT_OK(stint_session_bind_input(session, 0, x.data(), x.size() * 4, 1, &n));
    EXPECT_OK(stint_session_bind_input(session, 1, y.data(), y.size() * 4, 1, &n));
  }
  void expectAnswer(int64_t n) {
    stint_tensor z = sized<stint_tensor>();
    EXPECT_OK(stint_session_output(session, 0, &z));
    ASSERT_EQ(z.rank, 1u);
    ASSERT_EQ(z.dims[0], n);
    EXPECT_EQ(z.bytes, static_cast<uint64_t>(n) * 4);
    EXPECT_EQ(z.type, STINT_F32);
    for (int64_t i = 0; i < n; ++i)
      EXPECT_EQ(static_cast<float *>(z.data)[i], static_cast<float>(12 * i));
  }

  Opened opened;
  stint_session *session = nullptr;
  stint_status status;
  std::vector<float> x, y;
};

} // namespace

TEST(Session, RunsAtEveryShapeInBounds) {
  AddSession add;
  for (int64_t n : {1, 7, 8, 9, 64, 3}) {
    add.bind(n);
    EXPECT_OK(stint_session_run(add.session, nullptr));
    add.expectAnswer(n);
  }
}

TEST(Session, OwnMemoryIsFilledByTheCaller) {
  AddSession add;
  int64_t n = 5;
  for (uint32_t i : {0u, 1u}) {
    stint_tensor tensor = sized<stint_tensor>();
    EXPECT_EQ(stint_session_input(add.session, i, &tensor).code, STINT_STATUS_SHAPE_MISMATCH);
    EXPECT_OK(stint_session_set_input_shape(add.session, i, 1, &n));
    EXPECT_OK(stint_session_input(add.session, i, &tensor));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data) % 64, 0u);
    for (int k = 0; k < n; ++k)
      static_cast<float *>(tensor.data)[k] = static_cast<float>(i ? 10 * k : k);
  }
  EXPECT_OK(stint_session_run(add.session, nullptr));
  add.expectAnswer(n);
}

TEST(Session, OutputBoundToTheCaller) {
  AddSession add;
  add.bind(4);
  std::vector<float> z(4, -1.f);
  EXPECT_OK(stint_session_bind_output(add.session, 0, z.data(), 12));
  stint_status status = stint_session_run(add.session, nullptr);
  EXPECT_EQ(status.code, STINT_STATUS_OUT_OF_RANGE);
  EXPECT_EQ(text(status, add.opened.model), "output \"z\" takes 16 bytes, its memory holds 12");
  EXPECT_OK(stint_session_bind_output(add.session, 0, z.data(), 16));
  EXPECT_OK(stint_session_run(add.session, nullptr));
  EXPECT_EQ(z[3], 36.f);
}

TEST(Session, WrongShapesAreExplained) {
  AddSession add;
  int64_t n = 4, other = 5, huge = 65, none = 0;
  std::vector<float> data(64);
  auto bind = [&](uint32_t input, int64_t *dims, uint32_t rank, uint64_t bytes) {
    return stint_session_bind_input(add.session, input, data.data(), bytes, rank, dims);
  };
  EXPECT_EQ(stint_session_run(add.session, nullptr).code, STINT_STATUS_SHAPE_MISMATCH);
  EXPECT_EQ(text(bind(0, &huge, 1, 260), add.opened.model),
            "a dimension of input \"x\" is 65, the most is 64: compile with wider bounds (--dim)");
  EXPECT_EQ(text(bind(0, &none, 1, 0), add.opened.model), "a dimension of input \"x\" is 0, the least is 1");
  EXPECT_EQ(text(bind(0, &n, 2, 16), add.opened.model), "input \"x\" was given 2 dimensions, it has 1");
  EXPECT_EQ(text(bind(0, &n, 1, 20), add.opened.model), "input \"x\" was given 20 bytes, its shape takes 16");
  EXPECT_EQ(bind(2, &n, 1, 16).code, STINT_STATUS_NOT_FOUND);
  EXPECT_EQ(stint_session_bind_input(add.session, 0, reinterpret_cast<char *>(data.data()) + 1, 16, 1, &n).code,
            STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_OK(bind(0, &n, 1, 16));
  EXPECT_OK(bind(1, &other, 1, 20));
  EXPECT_EQ(text(stint_session_run(add.session, nullptr), add.opened.model),
            "a dimension of input \"y\" is 5, the same dimension elsewhere is 4");
}

TEST(Session, TakesTheSmallestLayoutThatFits) {
  stint_dim_maximum maximum = {"n", 8};
  auto options = sized<stint_session_options>();
  options.maxima = &maximum;
  options.maximum_count = 1;
  AddSession add(&options);
  EXPECT_OK(add.status);
  auto info = sized<stint_memory_info>();
  EXPECT_OK(stint_model_memory(add.opened.model, &options, &info));
  EXPECT_EQ(info.profile, 0u);
  EXPECT_EQ(info.arena, 96u);
  uint64_t small = info.session;
  maximum.value = 9;
  EXPECT_OK(stint_model_memory(add.opened.model, &options, &info));
  EXPECT_EQ(info.profile, 1u);
  EXPECT_GT(info.session, small);
  maximum.value = 65;
  EXPECT_EQ(stint_model_memory(add.opened.model, &options, &info).code, STINT_STATUS_OUT_OF_RANGE);
  maximum.symbol = "m";
  EXPECT_EQ(stint_model_memory(add.opened.model, &options, &info).code, STINT_STATUS_NOT_FOUND);
  // The session was made for at most 8.
  add.bind(8);
  EXPECT_OK(stint_session_run(add.session, nullptr));
  add.expectAnswer(8);
  int64_t n = 9;
  std::vector<float> data(9);
  EXPECT_EQ(stint_session_bind_input(add.session, 0, data.data(), 36, 1, &n).code, STINT_STATUS_OUT_OF_RANGE);
}

TEST(Session, LivesInTheCallersMemory) {
  Opened opened(*addPlan(), addSections());
  size_t bytes = 0;
  EXPECT_OK(stint_session_size(opened.model, nullptr, &bytes));
  void *memory = nullptr;
  ASSERT_EQ(posix_memalign(&memory, 64, bytes), 0);
  memset(memory, 0xa5, bytes); // nothing may rely on zeros
  stint_session *session = nullptr;
  EXPECT_EQ(stint_session_create_in(opened.model, nullptr, memory, bytes - 1, &session).code,
            STINT_STATUS_OUT_OF_MEMORY);
  EXPECT_OK(stint_session_create_in(opened.model, nullptr, memory, bytes, &session));
  int64_t n = 3;
  float x[3] = {1, 2, 3};
  EXPECT_OK(stint_session_bind_input(session, 0, x, 12, 1, &n));
  EXPECT_OK(stint_session_bind_input(session, 1, x, 12, 1, &n));
  EXPECT_OK(stint_session_run(session, nullptr));
  auto z = sized<stint_tensor>();
  EXPECT_OK(stint_session_output(session, 0, &z));
  EXPECT_EQ(static_cast<float *>(z.data)[2], 8.f); // 3 + 3 + w[2]
  stint_session_destroy(session);
  free(memory);
}

TEST(Session, BindAllReservesNothing) {
  auto options = sized<stint_session_options>();
  options.flags = STINT_SESSION_BIND_ALL;
  AddSession add(&options);
  auto info = sized<stint_memory_info>();
  EXPECT_OK(stint_model_memory(add.opened.model, &options, &info));
  EXPECT_EQ(info.ports, 0u);
  add.bind(4);
  EXPECT_EQ(stint_session_run(add.session, nullptr).code,
            STINT_STATUS_OUT_OF_RANGE); // the output has no memory
  std::vector<float> z(4);
  EXPECT_OK(stint_session_bind_output(add.session, 0, z.data(), 16));
  EXPECT_OK(stint_session_run(add.session, nullptr));
  add.expectAnswer(4);
}

TEST(Session, PrepareTellsShapesWithoutRunning) {
  AddSession add;
  auto z = sized<stint_tensor>();
  add.bind(6);
  EXPECT_EQ(stint_session_output(add.session, 0, &z).code, STINT_STATUS_SHAPE_MISMATCH);
  EXPECT_OK(stint_session_prepare(add.session));
  EXPECT_OK(stint_session_output(add.session, 0, &z));
  EXPECT_EQ(z.dims[0], 6);
}

// Every device: accepts what is right, refuses what is wrong.
class Devices : public testing::TestWithParam<const char *> {};

TEST_P(Devices, RunAndReportErrors) {
  auto options = sized<stint_session_options>();
  options.device = GetParam();
  AddSession add(&options);
  EXPECT_OK(add.status);
  add.bind(16);
  EXPECT_OK(stint_session_run(add.session, nullptr));
  auto run = sized<stint_run_options>();
  int32_t cancel = 1;
  run.cancel = &cancel;
  EXPECT_EQ(stint_session_run(add.session, &run).code, STINT_STATUS_CANCELLED);
  run.cancel = nullptr;
  run.deadline_ns = stint_clock_ns() - 1;
  EXPECT_EQ(stint_session_run(add.session, &run).code, STINT_STATUS_DEADLINE);
  run.deadline_ns = stint_clock_ns() + 60000000000;
  EXPECT_OK(stint_session_run(add.session, &run));
}
INSTANTIATE_TEST_SUITE_P(All, Devices, testing::Values("cpu", "null"), [](const auto &info) { return info.param; });

TEST(Session, UnknownDeviceAndEntry) {
  auto options = sized<stint_session_options>();
  options.device = "abacus";
  EXPECT_EQ(AddSession(&options).status.code, STINT_STATUS_NOT_FOUND);
  options.device = nullptr;
  options.entry = 1;
  EXPECT_EQ(AddSession(&options).status.code, STINT_STATUS_NOT_FOUND);
}

TEST(Session, ProfileHookSeesEveryDispatch) {
  AddSession add;
  add.bind(64);
  std::vector<stint_profile_event> events;
  EXPECT_OK(stint_session_set_profile(
      add.session,
      [](void *user, const stint_profile_event *event) {
        static_cast<std::vector<stint_profile_event> *>(user)->push_back(*event);
      },
      &events));
  EXPECT_OK(stint_session_run(add.session, nullptr));
  ASSERT_EQ(events.size(), 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(events[i].dispatch, i);
    EXPECT_STREQ(events[i].kernel, "add");
    EXPECT_EQ(events[i].workgroups, 8u);
    EXPECT_LE(events[i].begin_ns, events[i].end_ns);
    EXPECT_EQ(events[i].flops, -1);
    EXPECT_EQ(events[i].bytes_read, 512u);
    EXPECT_EQ(events[i].bytes_written, 256u);
  }
  EXPECT_STREQ(stint_model_dispatch_node(add.opened.model, 0, 1, 0), "node_0");
}

TEST(Session, VerifyWeights) {
  for (int32_t verify : {STINT_VERIFY_OFF, STINT_VERIFY_FIRST_USE, STINT_VERIFY_FULL}) {
    std::vector<uint8_t> file = makeFile(packPlan(*addPlan()), addSections());
    file[file.size() - 1] ^= 1;
    auto options = sized<stint_model_options>();
    options.verify = verify;
    Opened opened(file, &options);
    EXPECT_EQ(opened.status.code, verify == STINT_VERIFY_FULL ? STINT_STATUS_MALFORMED : STINT_OK);
    if (!opened.model)
      continue;
    stint_session *session = nullptr;
    EXPECT_OK(stint_session_create(opened.model, nullptr, &session));
    int64_t n = 2;
    float x[2] = {};
    EXPECT_OK(stint_session_bind_input(session, 0, x, 8, 1, &n));
    EXPECT_OK(stint_session_bind_input(session, 1, x, 8, 1, &n));
    EXPECT_EQ(stint_session_run(session, nullptr).code, verify == STINT_VERIFY_OFF ? STINT_OK : STINT_STATUS_MALFORMED);
    stint_session_destroy(session);
  }
}

TEST(Model, OpensFromFileAndDescriptor) {
  std::vector<uint8_t> file = makeFile(packPlan(*addPlan()), addSections());
  std::string path = testing::TempDir() + "stint-runtime-test.stint";
  int fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ASSERT_GE(fd, 0);
  std::vector<uint8_t> before(192, 0xee);
  ASSERT_EQ(write(fd, file.data(), file.size()), ssize_t(file.size()));
  stint_model *model = nullptr;
  EXPECT_OK(stint_model_open_file(path.c_str(), nullptr, &model));
  stint_model_release(model);
  ASSERT_EQ(ftruncate(fd, 0), 0);
  ASSERT_EQ(pwrite(fd, before.data(), 192, 0), 192);
  ASSERT_EQ(pwrite(fd, file.data(), file.size(), 192), ssize_t(file.size()));
  EXPECT_EQ(stint_model_open_file(path.c_str(), nullptr, &model).code, STINT_STATUS_MALFORMED);
  EXPECT_EQ(stint_model_open_fd(fd, 100, 0, nullptr, &model).code, STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(stint_model_open_fd(fd, 192, file.size() + 1, nullptr, &model).code, STINT_STATUS_MALFORMED);
  EXPECT_OK(stint_model_open_fd(fd, 192, 0, nullptr, &model));
  close(fd);
  unlink(path.c_str());
  stint_session *session = nullptr;
  EXPECT_OK(stint_session_create(model, nullptr, &session));
  stint_model_release(model); // the session holds on
  int64_t n = 64;
  std::vector<float> x(64, 1.f);
  EXPECT_OK(stint_session_bind_input(session, 0, x.data(), 256, 1, &n));
  EXPECT_OK(stint_session_bind_input(session, 1, x.data(), 256, 1, &n));
  EXPECT_OK(stint_session_run(session, nullptr));
  auto z = sized<stint_tensor>();
  EXPECT_OK(stint_session_output(session, 0, &z));
  EXPECT_EQ(static_cast<float *>(z.data)[63], 65.f);
  stint_session_destroy(session);
}

TEST(Model, MissingFileAndBadArguments) {
  stint_model *model = nullptr;
  stint_status status = stint_model_open_file("/no/such/file", nullptr, &model);
  EXPECT_EQ(status.code, STINT_STATUS_IO);
  EXPECT_EQ(status.a, ENOENT);
  EXPECT_EQ(stint_model_open_file("/", nullptr, &model).code, STINT_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(stint_model_open_file("/dev/null", nullptr, &model).code, STINT_STATUS_INVALID_ARGUMENT);
  stint_model_options unsized = {};
  EXPECT_EQ(stint_model_open_file("/", &unsized, &model).code, STINT_STATUS_INVALID_ARGUMENT);
}
