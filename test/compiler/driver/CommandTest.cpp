// The command itself: exit codes and where its words go.
#include "Models.h"

#include <cstdlib>
#include <sys/wait.h>

using namespace stint;

namespace {

struct Command : test::FolderTest {
  /// Runs `stint` with the words in the test's folder.
  int run(const std::string &words) {
    std::string line = "cd '" + folder.str().str() + "' && '" STINT_PROGRAM "' " + words + " >out 2>err </dev/null";
    int status = std::system(line.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << words;
    return WEXITSTATUS(status);
  }
  void SetUp() override {
    FolderTest::SetUp();
    write("model.onnx", test::reluModel());
  }
};

TEST_F(Command, HelpAndVersion) {
  EXPECT_EQ(run("--help"), 0);
  for (const char *word : {"compile", "verify", "explain", "inspect"})
    EXPECT_NE(read("out").find(word), std::string::npos) << word;
  EXPECT_EQ(run("compile --help"), 0);
  for (const char *word : {"--target", "--dim", "--max-ram", "--emit", "--report", "--json", "--seed", "--timing", "-q",
                           "-v", "--constant"})
    EXPECT_NE(read("out").find(word), std::string::npos) << word;
  EXPECT_EQ(run("--version"), 0);
  EXPECT_EQ(read("out").substr(0, 6), "stint ");
}

TEST_F(Command, WrongUsage) {
  for (const char *words :
       {"", "frobnicate", "compile", "compile model.onnx --dim n=1", "compile model.onnx -o a --what",
        "compile model.onnx -o a --dim n=x", "compile model.onnx -o a --dim n=1 --emit poetry",
        "compile model.onnx -o a --dim n=1 --max-ram lots", "compile model.onnx -o a --dim n=1 --constant c",
        "compile model.onnx -o a --dim n=1 --seed x", "compile model.onnx -o a --dim n=1 -q -v",
        "compile model.onnx --dim n=1 --emit graph --report a.html", "compile model.onnx -o a", "inspect", "verify"}) {
    EXPECT_EQ(run(words), 2) << words;
    EXPECT_NE(read("err"), "") << words;
    EXPECT_FALSE(exists("a")) << words;
  }
}

TEST_F(Command, OutputsOfACompilation) {
  ASSERT_EQ(run("compile model.onnx -o a.stint --dim n=1..4 --json a.json --report a.html --timing -v"), 0)
      << read("err");
  EXPECT_NE(read("out").find("a.stint"), std::string::npos);
  EXPECT_NE(read("err").find("total"), std::string::npos);
  EXPECT_EQ(read("a.json").substr(0, 1), "{");
  EXPECT_EQ(read("a.html").substr(0, 9), "<!DOCTYPE");
  EXPECT_EQ(run("compile model.onnx -o b.stint --dim n=1..4 --seed 0 -q"), 0);
  EXPECT_EQ(read("out") + read("err"), "");
  EXPECT_EQ(read("a.stint"), read("b.stint"));
  EXPECT_EQ(run("inspect a.stint"), 0);
  for (const char *words : {"root hash", "sections:", "variants, worst first:", "n in 1..4", "b0: input x", " flops r",
                            "memory at the largest shapes", "committed"})
    EXPECT_NE(read("out").find(words), std::string::npos) << words << " in " << read("out");
  EXPECT_EQ(run("inspect --json a.stint"), 0);
  EXPECT_EQ(read("out").substr(0, 1), "{");
  EXPECT_NE(read("out").find("\"committed\""), std::string::npos) << read("out");
  EXPECT_EQ(run("compile model.onnx -o a.stint --dim n=1 --json no/such/place.json"), 1);
  EXPECT_EQ(run("compile model.onnx -o a.stint --dim n=1 --report no/such/place.html"), 1);
}

TEST_F(Command, TextToAFullDisk) {
  if (!llvm::sys::fs::exists("/dev/full"))
    GTEST_SKIP() << "no /dev/full here";
  std::string line = "cd '" + folder.str().str() +
                     "' && '" STINT_PROGRAM "' compile model.onnx --dim n=1 --emit graph >/dev/full 2>err";
  int status = std::system(line.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(Command, Explain) {
  EXPECT_EQ(run("explain model.onnx"), 0);
  EXPECT_NE(read("out").find("Relu"), std::string::npos);
  EXPECT_NE(read("out").find("--dim n="), std::string::npos);
  EXPECT_EQ(run("explain --json model.onnx"), 0);
  EXPECT_EQ(read("out").substr(0, 1), "{");
  write("broken.onnx", "nothing");
  EXPECT_EQ(run("explain broken.onnx"), 4);
  EXPECT_EQ(run("inspect broken.onnx"), 4);
}

} // namespace
