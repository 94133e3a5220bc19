// stint: the command of the build machine. Argument parsing only: the work is
// in compiler/driver. Exit codes: 0 done; 1 the work failed; 2 wrong usage;
// 3 unsupported; 4 malformed.
#include "compiler/driver/Compiler.h"
#include "compiler/driver/Crash.h"
#include "compiler/driver/Explain.h"
#include "compiler/driver/HtmlReport.h"
#include "compiler/driver/Inspect.h"
#include "compiler/driver/Verify.h"
#include "runtime/schema/version.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

#include <CLI/CLI.hpp>

using namespace stint;
using namespace stint::driver;
using import::DecoderOptions;

namespace {

/// Words of the command line that need a second look.
struct Words {
  std::vector<std::string> dims, bounds, states, profiles, constants;
  std::string maxRam, emit, json, report, seed, kvMemory, kvType, activations;
  bool timing = false, quiet = false, verbose = false;
};

int usage(const std::string &message) {
  llvm::errs() << "stint: " << message << "\n";
  return 2;
}

/// What compile, verify and explain have in common. Returns 0 or exit code 2.
int readWords(const Words &words, Options &options) {
  for (const std::string &dim : words.dims)
    if (llvm::Error error = parseDim(dim, options.dims))
      return usage(llvm::toString(std::move(error)));
  for (const std::string &bound : words.bounds)
    if (llvm::Error error = parseBound(bound, options.bounds))
      return usage(llvm::toString(std::move(error)));
  for (const std::string &state : words.states)
    if (state == "none")
      options.decoder.plain = true;
    else if (llvm::Error error = parseState(state, options.states))
      return usage(llvm::toString(std::move(error)));
  for (const std::string &text : words.profiles) {
    llvm::Expected<ProfileRequest> profile = parseProfile(text);
    if (!profile)
      return usage(llvm::toString(profile.takeError()));
    llvm::sort(*profile);
    if (llvm::is_contained(options.profiles, *profile))
      return usage("--profile '" + text + "' is given twice");
    options.profiles.push_back(std::move(*profile));
  }
  for (const std::string &constant : words.constants)
    if (llvm::Error error = parseConstant(constant, options.constants))
      return usage(llvm::toString(std::move(error)));
  if (!words.maxRam.empty()) {
    llvm::Expected<uint64_t> bytes = parseBytes(words.maxRam);
    if (!bytes)
      return usage("--max-ram " + llvm::toString(bytes.takeError()));
    options.maxRam = *bytes;
  }
  options.decoder.half = words.kvType == "f16";
  options.int8Activations = words.activations == "int8";
  if (!words.kvMemory.empty()) {
    llvm::Expected<uint64_t> bytes = parseBytes(words.kvMemory);
    if (!bytes)
      return usage("--kv-memory " + llvm::toString(bytes.takeError()));
    if (*bytes == 0)
      return usage("--kv-memory 0: keys and values need memory");
    options.decoder.kvMemory = *bytes;
  }
  if (!words.emit.empty()) {
    std::optional<Emit> emit = parseEmit(words.emit);
    if (!emit)
      return usage("--emit '" + words.emit +
                   "': choose graph, schedule, plan, kernel, llvm, asm, object or static-library");
    options.emit = *emit;
  }
  if (!words.seed.empty() && !llvm::to_integer(words.seed, options.seed, 10))
    return usage("--seed '" + words.seed + "': expected a number from 0 to 18446744073709551615");
  llvm::Expected<std::string> model = findModel(options.input);
  if (!model) {
    llvm::errs() << "stint: " << llvm::toString(model.takeError()) << "\n";
    return 1;
  }
  options.input = *model;
  return 0;
}

void addModelOptions(CLI::App *command, Options &options, Words &words) {
  command->add_option("model", options.input, "An ONNX file, or a folder that holds one")
      ->required()
      ->type_name("MODEL");
  command
      ->add_option("--dim", words.dims,
                   "Bounds of a dynamic dimension: NAME=N, NAME=LO..HI, or NAME=LO..HI:STEP for multiples of STEP; "
                   "may be repeated")
      ->type_name("NAME=RANGE")
      ->allow_extra_args(false);
  command
      ->add_option("--bound", words.bounds,
                   "The most that a dimension which is known only while the model runs may be: VALUE.AXIS=N; may be "
                   "repeated")
      ->type_name("VALUE.AXIS=N")
      ->allow_extra_args(false);
  command
      ->add_option("--state", words.states,
                   "An input and the output that is its next value: the session keeps it from run to run, zeros at "
                   "first; may be repeated. none: past and present keys and values of a text decoder stay inputs and "
                   "outputs")
      ->type_name("IN=OUT|none")
      ->allow_extra_args(false);
  auto positive = CLI::Range(int64_t(1), int64_t(1) << 24);
  DecoderOptions &decoder = options.decoder;
  command->add_option("--context", decoder.context, "Text decoder: the most positions of a sequence")
      ->type_name("N")
      ->check(positive);
  command->add_option("--max-sequences", decoder.sequences, "Text decoder: sequences at once (default 1)")
      ->type_name("N")
      ->check(positive);
  command->add_option("--chunk", decoder.chunk, "Text decoder: the most tokens of a step (default 128)")
      ->type_name("N")
      ->check(positive);
  command
      ->add_option("--logit-rows", decoder.rows,
                   "Text decoder: the most tokens of a step whose logits are wanted (default: one a sequence)")
      ->type_name("N")
      ->check(positive);
  command->add_option("--kv-type", words.kvType, "Text decoder: what keys and values are kept as, f32 (default) or f16")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f32", "f16"}));
  command
      ->add_option("--activations", words.activations,
                   "What weights of 4 and 8 bits are multiplied with: f32 (default), or int8, which is faster and less "
                   "exact")
      ->type_name("TYPE")
      ->check(CLI::IsMember({"f32", "int8"}));
  command
      ->add_option("--kv-memory", words.kvMemory,
                   "Text decoder: memory for keys and values (default: what all sequences can fill); K, M, G are "
                   "powers of 1024")
      ->type_name("BYTES");
  command
      ->add_option("--constant", words.constants,
                   "An input that always has the value in a TensorProto file, such as the axes of a reduction; may be "
                   "repeated")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
}

void addTargetOptions(CLI::App *command, Options &options) {
  command->add_option("--target", options.targets, "host, x86_64-linux, aarch64-linux; several with commas")
      ->type_name("T[,T]")
      ->capture_default_str();
  command->add_option("--cpu", options.cpu, "One variant or CPU in place of a target's defaults: v3, cortex-a76")
      ->type_name("NAME");
  command->add_option("--features", options.features, "Features more or less: +dotprod,-avx512vnni")->type_name("LIST");
}

void printResult(const Options &options, const Words &words, Result &result) {
  for (const std::string &warning : result.warnings)
    if (!words.quiet)
      llvm::errs() << "stint: " << warning << "\n";
  if (words.verbose) {
    for (const std::string &note : result.notes)
      llvm::errs() << note << "\n";
  }
  if (!words.quiet && options.emit == Emit::File) {
    llvm::outs() << llvm::formatv("{0}: {1}, {2} kernels in {3} dispatches; code", options.output,
                                  readableBytes(result.fileBytes), result.kernels, result.dispatches);
    for (const auto &[name, bytes] : result.variants)
      llvm::outs() << " " << name << " " << readableBytes(bytes);
    llvm::outs() << "\n";
    result.ram.print(llvm::outs());
    if (result.sharedWeights)
      llvm::outs() << "  equal weights stored once: " << readableBytes(result.sharedWeights) << " saved\n";
  }
  if (words.timing) {
    llvm::errs() << "time:\n";
    result.time.print(llvm::errs());
  }
}

int writeJson(const std::string &path, const Options &options, Result &result) {
  llvm::json::Object variants;
  for (const auto &[name, bytes] : result.variants)
    variants[name] = static_cast<int64_t>(bytes);
  llvm::json::Object root{{"model", options.input},
                          {"output", options.output},
                          {"file_bytes", static_cast<int64_t>(result.fileBytes)},
                          {"kernels", static_cast<int64_t>(result.kernels)},
                          {"dispatches", static_cast<int64_t>(result.dispatches)},
                          {"code_bytes", std::move(variants)},
                          {"ram", result.ram.json()},
                          {"seconds", result.time.json()}};
  std::string text = llvm::formatv("{0:2}\n", llvm::json::Value(std::move(root))).str();
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  os << text;
  os.close();
  if (error || os.has_error()) {
    llvm::errs() << "stint: cannot write '" << path << "': " << (error ? error : os.error()).message()
                 << "; the compilation itself is done\n";
    os.clear_error();
    return 1;
  }
  return 0;
}

int runCompile(Options &options, const Words &words) {
  if (int code = readWords(words, options))
    return code;
  bool wantsFile = options.emit == Emit::File || options.emit == Emit::Object || options.emit == Emit::StaticLibrary;
  if (options.output.empty() && wantsFile)
    return usage("compile: -o says where the result goes, as in -o model.stint");
  if (!words.report.empty() && options.emit != Emit::File)
    return usage("compile: --report is about a plan file, not what --emit writes instead");
  if (options.output == "-") {
    if (wantsFile)
      return usage("compile: -o -: only what --emit prints as text can go to standard output");
    options.output.clear();
  }
  std::vector<std::string> written;
  for (const std::string &path : {options.output, words.report, words.json}) {
    if (path.empty())
      continue;
    if (llvm::sys::fs::equivalent(path, options.input))
      return usage("compile: writing '" + path + "' would destroy the model; choose another name");
    for (const std::string &file : {options.tokenizer, options.chatTemplate})
      if (!file.empty() && llvm::sys::fs::equivalent(path, file))
        return usage("compile: writing '" + path + "' would destroy '" + file + "'; choose another name");
    for (const auto &[name, file] : options.constants)
      if (llvm::sys::fs::equivalent(path, file))
        return usage("compile: writing '" + path + "' would destroy a constant's file; choose another name");
    if (llvm::is_contained(written, path))
      return usage("compile: '" + path + "' is to hold two things; choose another name for one");
    written.push_back(path);
  }
  import::Diagnostics diagnostics;
  Result result;
  runOnDeepStack([&] { result = compile(options, diagnostics, llvm::outs()); });
  diagnostics.print(llvm::errs());
  if (!result.ok)
    return diagnostics.exitCode() ? diagnostics.exitCode() : 1;
  printResult(options, words, result);
  if (!words.report.empty())
    if (llvm::Error error = writeHtmlReport(words.report, options, result)) {
      llvm::errs() << "stint: " << llvm::toString(std::move(error)) << "\n";
      return 1;
    }
  return words.json.empty() ? 0 : writeJson(words.json, options, result);
}

int runMain(int argc, char **argv) {
  CLI::App app("stint compiles an ONNX model, ahead of time, to one file that a tiny runtime runs.\n"
               "Exit codes: 0 done, 1 the work failed, 2 wrong usage, 3 unsupported, 4 malformed input.",
               "stint");
  app.set_version_flag("--version", "stint " STINT_VERSION_STRING);
  app.require_subcommand(1);

  Options compileOptions;
  Words compileWords;
  CLI::App *compileCommand = app.add_subcommand("compile", "Compile a model");
  addModelOptions(compileCommand, compileOptions, compileWords);
  compileCommand->add_option("-o,--output", compileOptions.output, "Where the result goes")->type_name("FILE");
  addTargetOptions(compileCommand, compileOptions);
  compileCommand
      ->add_option("--profile", compileWords.profiles,
                   "A memory layout for sessions with these joint maxima, beside the one at the upper bounds: "
                   "NAME=N[,NAME=N]; may be repeated (default: halves, quarters and eighths of the bounds)")
      ->type_name("MAXIMA")
      ->allow_extra_args(false);
  compileCommand
      ->add_option(
          "--tokenizer", compileOptions.tokenizer,
          "The model's tokenizer goes into the plan: tokenizer.json (with tokenizer_config.json beside it), or "
          "a GGUF file that holds one")
      ->type_name("FILE");
  compileCommand
      ->add_option("--chat-template", compileOptions.chatTemplate,
                   "A chat template (Jinja) in place of the one beside the tokenizer; 'none': no chat")
      ->type_name("FILE");
  compileCommand
      ->add_option("--max-ram", compileWords.maxRam, "Fail if a session needs more; K, M, G are powers of 1024")
      ->type_name("BYTES");
  compileCommand
      ->add_option("--emit", compileWords.emit,
                   "Write a stage instead: graph, schedule, plan, kernel, llvm, asm, object, static-library")
      ->type_name("STAGE");
  compileCommand->add_option("--json", compileWords.json, "Write sizes, memory and times here")->type_name("FILE");
  compileCommand->add_option("--report", compileWords.report, "Write a page about what was made here")
      ->type_name("FILE.html");
  compileCommand->add_option("--seed", compileWords.seed, "Where searches by chance begin: equal seeds, equal bytes")
      ->type_name("N")
      ->capture_default_str();
  compileCommand->add_flag("--timing", compileWords.timing, "Print how long each stage took");
  auto *quiet = compileCommand->add_flag("-q,--quiet", compileWords.quiet, "Print problems only");
  compileCommand->add_flag("-v,--verbose", compileWords.verbose, "Print what was done on the way")->excludes(quiet);

  VerifyOptions verifyOptions;
  Words verifyWords;
  CLI::App *verifyCommand =
      app.add_subcommand("verify", "Compile a model, run it on test_data_set_* and compare the outputs");
  addModelOptions(verifyCommand, verifyOptions.compile, verifyWords);
  addTargetOptions(verifyCommand, verifyOptions.compile);
  verifyCommand->add_option("--data", verifyOptions.data, "Folder with test_data_set_* (else the model's)")
      ->type_name("DIR");
  verifyCommand->add_option("--variant", verifyOptions.variant, "Run this variant")->type_name("NAME");
  verifyCommand->add_option("--rtol", verifyOptions.relative, "Relative tolerance")->capture_default_str();
  verifyCommand->add_option("--atol", verifyOptions.absolute, "Absolute tolerance")->capture_default_str();
  verifyCommand->add_option("--threads", verifyOptions.threads, "Threads to run on")->capture_default_str();

  Options explainOptions;
  Words explainWords;
  bool explainJson = false;
  CLI::App *explainCommand = app.add_subcommand("explain", "Say what of a model is supported and what is not");
  addModelOptions(explainCommand, explainOptions, explainWords);
  explainCommand->add_flag("--json", explainJson, "Print JSON");

  std::string plan;
  bool inspectJson = false;
  CLI::App *inspectCommand = app.add_subcommand("inspect", "Print what is in a .stint file");
  inspectCommand->add_option("plan", plan, "A .stint file")->required()->type_name("PLAN");
  inspectCommand->add_flag("--json", inspectJson, "Print JSON");

  auto isNamed = [&](const CLI::App *command) { return command->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' &&
      llvm::none_of(llvm::ArrayRef({compileCommand, verifyCommand, explainCommand, inspectCommand}), isNamed))
    return usage(llvm::formatv("'{0}' is no command: choose compile, verify, explain or inspect", argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success &e) {
    return app.exit(e); // --help, --version
  } catch (const CLI::ParseError &e) {
    app.exit(e);
    return 2;
  }
  if (*compileCommand)
    return runCompile(compileOptions, compileWords);
  if (*inspectCommand)
    return inspect(plan, inspectJson, llvm::outs());
  import::Diagnostics diagnostics;
  int code = 0;
  // Its data are of past and present tensors.
  verifyOptions.compile.decoder.plain = true;
  if (*explainCommand) {
    if ((code = readWords(explainWords, explainOptions)))
      return code;
    runOnDeepStack([&] { code = explain(explainOptions, explainJson, llvm::outs(), diagnostics); });
    return code;
  }
  if ((code = readWords(verifyWords, verifyOptions.compile)))
    return code;
  runOnDeepStack([&] { code = verify(verifyOptions, llvm::outs(), diagnostics); });
  return code;
}

} // namespace

int main(int argc, char **argv) {
  installCrashHandlers();
  int code = runMain(argc, argv);
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::outs().clear_error();
    llvm::errs() << "stint: cannot write to standard output\n";
    return code ? code : 1;
  }
  return code;
}
