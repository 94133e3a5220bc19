// Reads Hugging Face's tokenizer.json: a model of type BPE, and chains of
// normalisers, pre-tokenizers, post-processors and decoders, each understood
// where it does what the section can say, and refused by name elsewhere.
#include "compiler/text/TextJson.h"
#include "compiler/text/TokenizerModel.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace stint::text {
namespace {

using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

constexpr const char *lowLine = "\xe2\x96\x81"; // U+2581

class JsonReader {
public:
  llvm::Expected<TokenizerModel> run(llvm::StringRef text) {
    llvm::Expected<Value> parsed = parseJson(text);
    if (!parsed)
      return parsed.takeError();
    const Object *root = parsed->getAsObject();
    if (!root)
      return malformed("not an object");
    for (const char *key : {"truncation", "padding"})
      if (const Value *value = root->get(key); value && value->kind() != Value::Null)
        return unsupported(llvm::Twine("the setting '") + key + "' isn't understood: set it to null");
    if (llvm::Error error =
            each(root->get("normalizer"), "normalizers", [&](const Object &o) { return normalizer(o); }))
      return std::move(error);
    if (llvm::Error error =
            each(root->get("pre_tokenizer"), "pretokenizers", [&](const Object &o) { return preTokenizer(o); }))
      return std::move(error);
    if (llvm::Error error = model(root->getObject("model")))
      return std::move(error);
    if (llvm::Error error = addedTokens(root->getArray("added_tokens")))
      return std::move(error);
    if (llvm::Error error =
            each(root->get("post_processor"), "processors", [&](const Object &o) { return postProcessor(o); }))
      return std::move(error);
    if (llvm::Error error = each(root->get("decoder"), "decoders", [&](const Object &o) { return decoder(o); }))
      return std::move(error);
    if (!haveDecoder)
      return unsupported("a tokenizer without a decoder");
    if (result.byteLevel() != bool(result.flags & STINT_TOKENIZER_DECODE_LOSSY))
      return unsupported("a pre-tokenizer and a decoder of which only one is ByteLevel");
    return std::move(result);
  }

private:
  static llvm::StringRef typeOf(const Object &object) { return object.getString("type").value_or("(none)"); }
  static bool flag(const Object &object, llvm::StringRef key, bool otherwise) {
    return object.getBoolean(key).value_or(otherwise);
  }

  /// Calls `one` for a part of the file, or for each of a Sequence of them.
  llvm::Error each(const Value *value, llvm::StringRef list, llvm::function_ref<llvm::Error(const Object &)> one) {
    if (!value || value->kind() == Value::Null)
      return llvm::Error::success();
    const Object *object = value->getAsObject();
    if (!object)
      return malformed("a part that isn't an object where " + list + " are expected");
    if (typeOf(*object) != "Sequence")
      return one(*object);
    const Array *items = object->getArray(list);
    if (!items)
      return malformed("a Sequence without its " + list);
    for (const Value &item : *items)
      if (llvm::Error error = each(&item, list, one))
        return error;
    return llvm::Error::success();
  }

  /// {"String": from} -> to, as parts of type Replace have it.
  static bool replaces(const Object &object, llvm::StringRef from, llvm::StringRef to) {
    const Object *pattern = object.getObject("pattern");
    return pattern && pattern->getString("String") == from && object.getString("content") == to;
  }

  llvm::Error normalizer(const Object &object) {
    llvm::StringRef type = typeOf(object);
    uint32_t later = 0, wanted;
    if (type == "NFC") {
      wanted = STINT_TOKENIZER_NFC;
      later = STINT_TOKENIZER_PREPEND | STINT_TOKENIZER_SPACES;
    } else if (type == "Prepend" && object.getString("prepend") == lowLine) {
      wanted = STINT_TOKENIZER_PREPEND;
    } else if (type == "Replace" && replaces(object, " ", lowLine)) {
      wanted = STINT_TOKENIZER_SPACES;
    } else {
      return unsupported("the normalizer " + type + (type == "Prepend" || type == "Replace" ? " of this kind" : "") +
                         " isn't understood");
    }
    if (result.flags & (wanted | later))
      return unsupported("the normalizer " + type + " at this place isn't understood");
    result.flags |= wanted;
    return llvm::Error::success();
  }

  llvm::Error preTokenizer(const Object &object) {
    llvm::StringRef type = typeOf(object);
    bool first = !seenPreTokenizer;
    seenPreTokenizer = true;
    if (result.byteLevel())
      return unsupported("the pre-tokenizer " + type + " after ByteLevel isn't understood");
    if (type == "ByteLevel") {
      if (flag(object, "add_prefix_space", true)) {
        if (!first)
          return unsupported("ByteLevel that adds a space, behind another pre-tokenizer, isn't understood");
        result.flags |= STINT_TOKENIZER_PREFIX_ALL;
        result.piecePrefix = " ";
      }
      result.flags |= STINT_TOKENIZER_BYTE_LEVEL;
      if (flag(object, "use_regex", true))
        result.stages.push_back({SplitStage::Regex, gpt2Pattern, false});
      return llvm::Error::success();
    }
    if (type == "Digits") {
      result.stages.push_back(
          {flag(object, "individual_digits", false) ? SplitStage::Digits : SplitStage::DigitRuns, "", false});
      return llvm::Error::success();
    }
    if (type == "Split")
      return split(object);
    if (type == "Metaspace" && first)
      return metaspace(object);
    return unsupported("the pre-tokenizer " + type + " isn't understood here");
  }

  llvm::Error split(const Object &object) {
    const Object *pattern = object.getObject("pattern");
    llvm::StringRef behavior = object.getString("behavior").value_or("(none)");
    bool invert = flag(object, "invert", false);
    if (pattern && pattern->getString("String") == " " && (result.flags & STINT_TOKENIZER_SPACES))
      return llvm::Error::success(); // no space is left
    if (!pattern || !pattern->getString("Regex"))
      return unsupported("the pre-tokenizer Split at what isn't a Regex isn't understood");
    if (!(behavior == "Isolated" && !invert) && !(behavior == "Removed" && invert))
      return unsupported("the pre-tokenizer Split with behavior " + behavior + (invert ? ", inverted," : "") +
                         " isn't understood");
    result.stages.push_back({SplitStage::Regex, pattern->getString("Regex")->str(), invert});
    return llvm::Error::success();
  }

  llvm::Error metaspace(const Object &object) {
    if (object.getString("replacement") != lowLine)
      return unsupported("the pre-tokenizer Metaspace with another replacement than U+2581 isn't understood");
    llvm::StringRef scheme =
        object.getString("prepend_scheme").value_or(flag(object, "add_prefix_space", true) ? "always" : "never");
    if (scheme == "always")
      result.flags |= STINT_TOKENIZER_PREFIX_ALL;
    else if (scheme == "first")
      result.flags |= STINT_TOKENIZER_PREFIX_FIRST;
    else if (scheme != "never")
      return unsupported("the prepend_scheme '" + scheme + "' isn't understood");
    if (scheme != "never" && (result.flags & STINT_TOKENIZER_PREPEND))
      return unsupported("both Prepend and Metaspace put something before a text");
    result.flags |= STINT_TOKENIZER_PIECE_SPACES;
    result.piecePrefix = lowLine;
    if (flag(object, "split", true))
      result.stages.push_back({SplitStage::Regex, std::string(lowLine) + "[^" + lowLine + "]*|[^" + lowLine + "]+"});
    return llvm::Error::success();
  }

  llvm::Error model(const Object *object) {
    if (!object)
      return malformed("no model");
    llvm::StringRef type = object->getString("type").value_or(object->get("merges") ? "BPE" : "(none)");
    if (type != "BPE")
      return unsupported("a tokenizer model of type " + type + " isn't understood: only BPE is");
    if (object->getNumber("dropout").value_or(0) != 0)
      return unsupported("a tokenizer with dropout isn't understood");
    for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (!object->getString(key).value_or("").empty())
        return unsupported(llvm::Twine("a tokenizer with a ") + key + " isn't understood");
    if (flag(*object, "ignore_merges", false))
      result.flags |= STINT_TOKENIZER_WHOLE_WORDS;
    if (flag(*object, "byte_fallback", false))
      result.flags |= STINT_TOKENIZER_BYTE_FALLBACK;
    if (flag(*object, "fuse_unk", false))
      result.flags |= STINT_TOKENIZER_FUSE_UNKNOWN;
    if (result.byteLevel() && (result.flags & STINT_TOKENIZER_BYTE_FALLBACK))
      return unsupported("byte_fallback in a byte-level tokenizer isn't understood");

    const Object *vocabulary = object->getObject("vocab");
    if (!vocabulary || vocabulary->empty())
      return malformed("the model has no vocabulary");
    for (const auto &[text, id] : *vocabulary) {
      std::optional<int64_t> number = id.getAsInteger();
      if (!number || *number < 0 || *number > UINT32_MAX)
        return malformed("the id of token '" + llvm::StringRef(text) + "' isn't a number from 0");
      if (llvm::Error error = builder.addToken(text, *number))
        return error;
    }
    if (std::optional<llvm::StringRef> unknown = object->getString("unk_token")) {
      result.unknownId = builder.find(*unknown);
      if (result.unknownId == STINT_TOKENIZER_NONE)
        return malformed("the unknown token '" + *unknown + "' isn't in the vocabulary");
    }
    const Array *merges = object->getArray("merges");
    if (!merges)
      return malformed("the model has no merges");
    for (const Value &merge : *merges)
      if (llvm::Error error = addMerge(merge))
        return error;
    builder.finish();
    return llvm::Error::success();
  }

  llvm::Error addMerge(const Value &merge) {
    if (const Array *pair = merge.getAsArray(); pair && pair->size() == 2) {
      std::optional<llvm::StringRef> left = (*pair)[0].getAsString(), right = (*pair)[1].getAsString();
      if (left && right)
        return builder.addMerge(*left, *right);
    } else if (std::optional<llvm::StringRef> line = merge.getAsString()) {
      if (line->starts_with("#version"))
        return llvm::Error::success();
      auto [left, right] = line->split(' ');
      if (!left.empty() && !right.empty() && !right.contains(' '))
        return builder.addMerge(left, right);
    }
    return malformed("a merge that isn't a pair of tokens");
  }

  llvm::Error addedTokens(const Array *tokens) {
    if (!tokens)
      return llvm::Error::success();
    for (const Value &value : *tokens) {
      const Object *object = value.getAsObject();
      if (!object || !object->getString("content") || !object->getInteger("id"))
        return malformed("an added token without content or id");
      AddedToken token;
      token.content = object->getString("content")->str();
      int64_t id = *object->getInteger("id");
      if (id < 0 || id >= STINT_TOKENIZER_MAX_IDS)
        return malformed("the id of the added token '" + token.content + "' is out of range");
      if (flag(*object, "single_word", false))
        return unsupported("the added token '" + token.content + "' is single_word, which isn't understood");
      token.id = id;
      token.lstrip = flag(*object, "lstrip", false);
      token.rstrip = flag(*object, "rstrip", false);
      token.special = flag(*object, "special", false);
      token.normalized = flag(*object, "normalized", true);
      if (llvm::Error error = builder.addAdded(std::move(token)))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error postProcessor(const Object &object) {
    llvm::StringRef type = typeOf(object);
    if (type == "ByteLevel")
      return llvm::Error::success(); // about offsets alone
    if (type != "TemplateProcessing" || seenTemplate)
      return unsupported("the post-processor " + type + " isn't understood here");
    seenTemplate = true;
    const Array *single = object.getArray("single");
    const Object *special = object.getObject("special_tokens");
    if (!single)
      return malformed("a TemplateProcessing without 'single'");
    std::vector<uint32_t> *side = &result.prefix;
    for (const Value &value : *single) {
      const Object *item = value.getAsObject();
      const Object *sequence = item ? item->getObject("Sequence") : nullptr;
      const Object *token = item ? item->getObject("SpecialToken") : nullptr;
      if (sequence && sequence->getString("id") == "A" && side == &result.prefix) {
        side = &result.suffix;
      } else if (token && token->getString("id") && special && special->getObject(*token->getString("id"))) {
        const Array *ids = special->getObject(*token->getString("id"))->getArray("ids");
        if (!ids)
          return malformed("a special token without ids in a TemplateProcessing");
        for (const Value &id : *ids) {
          std::optional<int64_t> number = id.getAsInteger();
          if (!number || *number < 0 || *number >= int64_t(result.tokens.size()) || !result.tokens[*number].present)
            return malformed("a TemplateProcessing names an id that isn't there");
          side->push_back(*number);
        }
      } else {
        return unsupported("a TemplateProcessing that isn't special tokens around the text once isn't understood");
      }
    }
    if (side == &result.prefix)
      return unsupported("a TemplateProcessing without the text isn't understood");
    return llvm::Error::success();
  }

  llvm::Error decoder(const Object &object) {
    llvm::StringRef type = typeOf(object);
    uint32_t &flags = result.flags;
    constexpr uint32_t spaces = STINT_TOKENIZER_DECODE_SPACES | STINT_TOKENIZER_DECODE_DROP;
    bool first = !haveDecoder;
    haveDecoder = true;
    if (fused || (flags & STINT_TOKENIZER_DECODE_LOSSY)) {
      if (type == "Strip" && fused && object.getString("content") == " " && !object.getInteger("stop").value_or(0) &&
          !result.stripStart) {
        int64_t start = object.getInteger("start").value_or(0);
        if (start < 0 || start > 64)
          return unsupported("the decoder Strip of more than 64 spaces isn't understood");
        result.stripStart = start;
        return llvm::Error::success();
      }
    } else if (type == "ByteLevel" && first) {
      flags |= STINT_TOKENIZER_DECODE_LOSSY;
      return llvm::Error::success();
    } else if (type == "Replace" && replaces(object, lowLine, " ") &&
               !(flags & (STINT_TOKENIZER_DECODE_BYTES | spaces))) {
      flags |= STINT_TOKENIZER_DECODE_SPACES;
      return llvm::Error::success();
    } else if (type == "Metaspace" && object.getString("replacement") == lowLine &&
               !(flags & (STINT_TOKENIZER_DECODE_BYTES | spaces))) {
      bool never = object.getString("prepend_scheme") == "never" || !flag(object, "add_prefix_space", true);
      flags |= STINT_TOKENIZER_DECODE_SPACES | (never ? 0 : STINT_TOKENIZER_DECODE_DROP);
      return llvm::Error::success();
    } else if (type == "ByteFallback") {
      flags |= STINT_TOKENIZER_DECODE_BYTES;
      return llvm::Error::success();
    } else if (type == "Fuse") {
      fused = true;
      return llvm::Error::success();
    }
    return unsupported("the decoder " + type + " at this place isn't understood");
  }

  TokenizerModel result;
  VocabularyBuilder builder{result};
  bool seenPreTokenizer = false, seenTemplate = false, haveDecoder = false, fused = false;
};

} // namespace

llvm::Expected<TokenizerModel> readTokenizerJson(llvm::MemoryBufferRef file) {
  return JsonReader().run(file.getBuffer());
}

} // namespace stint::text
