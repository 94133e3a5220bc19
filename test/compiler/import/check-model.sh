#!/bin/sh
# check-model.sh TOOL FILECHECK MODEL.textproto
#
# Encodes an ONNX model written as a text proto, imports it with the arguments
# on its `# ARGS:` line, compares the exit code with its `# EXIT:` line and the
# output with its `# CHECK` lines.
set -eu
tool=$1 filecheck=$2 text=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
protoc --encode=onnx.ModelProto -I/usr/include/onnx onnx.proto <"$text" >"$folder/model.onnx"
# Files that the model's external data needs: `# FILE: name size`.
sed -n 's/^# FILE: *//p' "$text" | while read -r name size; do
  head -c "$size" /dev/zero >"$folder/$name"
done
arguments=$(sed -n 's/^# ARGS: *//p' "$text")
expected=$(sed -n 's/^# EXIT: *//p' "$text")
status=0
# shellcheck disable=SC2086
(cd "$folder" && "$tool" model.onnx $arguments) >"$folder/out" 2>&1 || status=$?
if [ "$status" -ne "${expected:-0}" ]; then
  echo "exit code $status, expected ${expected:-0}; output:"
  cat "$folder/out"
  exit 1
fi
"$filecheck" --dump-input=fail "$text" <"$folder/out"
