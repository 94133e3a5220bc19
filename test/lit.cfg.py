# lit configuration of the dialect and pass tests: a test is an .mlir file with
# RUN lines for stint-opt and FileCheck. CMake passes the folders of both as
# parameters (see test/dialects/CMakeLists.txt).
import os
import lit.formats

config.name = "stint"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["exec_root"]
config.environment["PATH"] = os.pathsep.join(
    [lit_config.params["tools"], lit_config.params["llvm_tools"], config.environment.get("PATH", "")])
config.environment["FILECHECK_OPTS"] = "--enable-var-scope --dump-input=fail"
