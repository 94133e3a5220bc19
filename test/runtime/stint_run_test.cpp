// stint-run, linked into the test: whichever call to the system fails, it ends
// with an exit code and a message, and gives everything back.
#include "decoder_plan.h"
#include "failing.h"
#include "plan_builder.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

using namespace stint::test;

int stint_run_main(int argc, char **argv); // main.cpp, renamed by the build

namespace {

struct StintRun : testing::Test {
  void SetUp() override {
    sched_getaffinity(0, sizeof(affinity), &affinity);
    folder = testing::TempDir() + "stint-run-" + std::to_string(getpid()) + "-";
    write("plan.stint", makeFile(packPlan(*addPlan()), addSections()));
    write("decoder.stint", makeFile(packPlan(*decoderPlan()), addSections()));
    std::vector<uint8_t> proto = {8, 4, 16, 1, 74, 16}; // dims 4, type f32, 16 raw bytes
    proto.resize(proto.size() + 16);
    write("y.pb", proto);
    write("x.npy", npy("(4,)", 4));
    write("steps.npy", npy("(2, 4)", 8));
    // What it says is not looked at here, but that it says something.
    fflush(stdout);
    fflush(stderr);
    out = dup(1);
    err = dup(2);
    said = open((folder + "said").c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_TRUE(out >= 0 && err >= 0 && said >= 0);
  }
  void TearDown() override {
    sched_setaffinity(0, sizeof(affinity), &affinity); // --cpus took this thread along
    close(out);
    close(err);
    close(said);
    for (const char *name :
         {"plan.stint", "decoder.stint", "state", "y.pb", "x.npy", "steps.npy", "z.npy", "trace.json", "said"})
      unlink((folder + name).c_str());
  }
  void write(const char *name, const std::vector<uint8_t> &bytes) {
    FILE *file = fopen((folder + name).c_str(), "wb");
    ASSERT_EQ(fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    fclose(file);
  }

  static std::vector<uint8_t> npy(const std::string &shape, size_t elements) {
    std::string file = "\x93NUMPY\x01";
    file += std::string("\0\x76\0", 3) + "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    file.resize(127, ' ');
    file += "\n" + std::string(elements * 4, '\0');
    return {file.begin(), file.end()};
  }

  // Exit code; with what was said in `heard`.
  int run(const std::vector<std::string> &arguments, Fail how, long n, std::string &heard) {
    std::vector<std::string> words = {"stint-run", folder + "plan.stint"};
    if (generates)
      words = {"stint-run", "generate", folder + "decoder.stint"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    EXPECT_EQ(ftruncate(said, 0), 0);
    lseek(said, 0, SEEK_SET);
    fflush(stdout);
    dup2(said, 1);
    dup2(said, 2);
    failAt(how, n);
    int code = stint_run_main(static_cast<int>(argv.size()) - 1, argv.data());
    fflush(stdout);
    fflush(stderr);
    dup2(out, 1);
    dup2(err, 2);
    char text[4096];
    ssize_t length = pread(said, text, sizeof(text), 0);
    heard.assign(text, length > 0 ? static_cast<size_t>(length) : 0);
    return code;
  }

  void failEach(const std::vector<std::string> &arguments, Fail how) {
    int failures = 0;
    for (long n = 0;; ++n) {
      std::string heard;
      long before = held();
      int code = run(arguments, how, n, heard);
      bool failed = hasFailed();
      failAt(Fail::Never, 0);
      ASSERT_EQ(held(), before) << "something is left behind after call " << n << " failed: " << heard;
      if (!failed) {
        ASSERT_EQ(code, 0) << heard;
        break;
      }
      if (code) {
        ASSERT_EQ(code, 1) << heard;
        ASSERT_NE(heard.find("stint-run: error: "), std::string::npos) << heard;
        ++failures;
      }
      ASSERT_LT(n, 2000);
    }
    EXPECT_GT(failures, 8);
  }

  bool generates = false; // the words are those of `stint-run generate`
  cpu_set_t affinity;
  std::string folder;
  int out = -1, err = -1, said = -1;
};

} // namespace

TEST_F(StintRun, SurvivesAnyFailure) {
  for (Fail how : {Fail::One, Fail::AllFrom})
    failEach({"--input", "x=" + folder + "x.npy", "--input", "y=" + folder + "y.pb", "--output",
              "z=" + folder + "z.npy", "--threads", "2", "--cpus", "0"},
             how);
}

TEST_F(StintRun, SurvivesAnyFailureWhileProfiling) {
  for (Fail how : {Fail::One, Fail::AllFrom})
    failEach(
        {"--input", "x=" + folder + "x.npy", "--input", "y=" + folder + "y.pb", "--profile", folder + "trace.json"},
        how);
}

TEST_F(StintRun, SurvivesAnyFailureWhileTiming) {
  for (Fail how : {Fail::One, Fail::AllFrom})
    failEach({"--shape", "x=4", "--shape", "y=4", "--bench", "3", "--json"}, how);
}

TEST_F(StintRun, SurvivesAnyFailureInASequence) {
  for (Fail how : {Fail::One, Fail::AllFrom})
    failEach({"--sequence", "--input", "x=" + folder + "steps.npy", "--input", "y=" + folder + "steps.npy", "--output",
              "z=" + folder + "z.npy"},
             how);
}

TEST_F(StintRun, SurvivesAnyFailureWhileGenerating) {
  generates = true;
  for (Fail how : {Fail::One, Fail::AllFrom})
    failEach({"--tokens", "1,2,3", "--max-tokens", "5", "--save-state", folder + "state", "--threads", "2"}, how);
  for (Fail how : {Fail::One, Fail::AllFrom})
    failEach({"--load-state", folder + "state", "--tokens", "4", "--max-tokens", "5", "--json"}, how);
}

TEST_F(StintRun, GeneratesWithoutText) {
  generates = true;
  std::string heard, wanted;
  ASSERT_EQ(run({"--tokens", "1,2,3", "--max-tokens", "5"}, Fail::Never, 0, heard), 0) << heard;
  std::vector<uint32_t> says = decoderSays({1, 2, 3}, 5);
  for (size_t i = 3; i < says.size(); ++i)
    wanted += (i == 3 ? "" : " ") + std::to_string(says[i]);
  EXPECT_EQ(heard.rfind(wanted + "\n", 0), 0u) << heard;
  EXPECT_NE(heard.find("prompt 3 tokens"), std::string::npos) << heard;
  EXPECT_NE(heard.find("2 of 20 cache pages; max tokens"), std::string::npos) << heard;
  EXPECT_EQ(run({"--prompt", "a"}, Fail::Never, 0, heard), 2);
  EXPECT_NE(heard.find("holds no tokenizer"), std::string::npos) << heard;
}
