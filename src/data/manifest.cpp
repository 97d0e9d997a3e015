#include "base/error.h"
#include "base/sha256.h"
#include "data/cache.h"

namespace saddle::data {

namespace {

constexpr std::string_view kManifestFormat = "saddle token cache";

Json split_to_json(const SplitRecord& split) {
  Json skipped = Json::object();
  for (const auto& [reason, count] : split.skipped) skipped[reason] = count;
  Json sources = Json::array();
  for (const SourceRecord& source : split.sources) {
    sources.push_back({{"name", source.name}, {"bytes", source.bytes}, {"sha256", source.sha256}});
  }
  Json shards = Json::array();
  for (const ShardRecord& shard : split.shards) {
    shards.push_back({{"name", shard.name}, {"tokens", shard.tokens}, {"sha256", shard.sha256}});
  }
  return {{"tokens", split.tokens},
          {"documents", split.documents},
          {"skipped", skipped},
          {"sources", sources},
          {"shards", shards}};
}

// Reads the fields of one JSON object, naming the file and the field in every error.
class FieldReader {
 public:
  FieldReader(const Json& json, const Path& path, std::string where)
      : json_(json), path_(path), where_(std::move(where)) {
    if (!json.is_object()) {
      fail(ErrorKind::kData, "{}: expected {} to be an object", path.string(),
           where_.empty() ? "the manifest" : where_);
    }
  }

  const Json& at(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) {
      fail(ErrorKind::kData, "{}: {} is missing", path_.string(), full_name(name));
    }
    return *found;
  }
  int64_t count(const char* name) const {
    const Json& value = at(name);
    if (!value.is_number_unsigned() || value.get<uint64_t>() > uint64_t{INT64_MAX}) {
      wrong(name, "a count that fits in 63 bits", value);
    }
    return value.get<int64_t>();
  }
  uint64_t seed(const char* name) const {
    const Json& value = at(name);
    if (!value.is_number_unsigned()) wrong(name, "an unsigned integer", value);
    return value.get<uint64_t>();
  }
  bool flag(const char* name) const {
    const Json& value = at(name);
    if (!value.is_boolean()) wrong(name, "true or false", value);
    return value.get<bool>();
  }
  std::string text(const char* name) const {
    const Json& value = at(name);
    if (!value.is_string()) wrong(name, "a string", value);
    return value.get<std::string>();
  }
  const Json& list(const char* name) const {
    const Json& value = at(name);
    if (!value.is_array()) wrong(name, "a list", value);
    return value;
  }
  std::string full_name(const std::string& name) const {
    return where_.empty() ? name : where_ + "." + name;
  }
  [[noreturn]] void wrong(const char* name, const char* expected, const Json& found) const {
    fail(ErrorKind::kData, "{}: expected {} to be {}, found {}", path_.string(), full_name(name),
         expected, found.dump());
  }

 private:
  const Json& json_;
  const Path& path_;
  std::string where_;
};

SplitRecord split_from_json(const Json& json, const Path& path, Split which) {
  const std::string where(split_name(which));
  const FieldReader fields(json, path, where);
  SplitRecord split;
  split.tokens = fields.count("tokens");
  split.documents = fields.count("documents");
  const Json& skipped = fields.at("skipped");
  const FieldReader reasons(skipped, path, fields.full_name("skipped"));
  for (const auto& [reason, value] : skipped.items()) {
    split.skipped[reason] = reasons.count(reason.c_str());
  }
  for (const Json& item : fields.list("sources")) {
    const FieldReader source(item, path, fields.full_name("sources"));
    split.sources.push_back({source.text("name"), source.count("bytes"), source.text("sha256")});
  }
  for (const Json& item : fields.list("shards")) {
    const FieldReader shard(item, path, fields.full_name("shards"));
    split.shards.push_back({shard.text("name"), shard.count("tokens"), shard.text("sha256")});
  }
  return split;
}

// Shards have the names that saddle gives them (so none lies outside the directory), all but the
// last are full, and their tokens add up.
void check_shards(const SplitRecord& split, Split which, int64_t shard_tokens, const Path& path) {
  int64_t left = split.tokens;
  for (size_t i = 0; i < split.shards.size(); ++i) {
    const ShardRecord& shard = split.shards[i];
    const std::string name = shard_name(which, static_cast<int64_t>(i));
    if (shard.name != name) {
      fail(ErrorKind::kData, "{}: expected shard {} of {} to be named {}, found {}", path.string(),
           i, split_name(which), name, shard.name);
    }
    const int64_t expected = std::min(left, shard_tokens);
    if (shard.tokens != expected || expected == 0) {
      fail(ErrorKind::kData, "{}: expected {} to hold {} tokens, found {}", path.string(), name,
           expected, shard.tokens);
    }
    left -= expected;
  }
  if (left != 0) {
    fail(ErrorKind::kData, "{}: {} should have {} tokens, but its shards have {}", path.string(),
         split_name(which), split.tokens, split.tokens - left);
  }
}

}  // namespace

std::string_view split_name(Split split) {
  return split == Split::kTrain ? "train" : "validation";
}

std::string shard_name(Split split, int64_t index) {
  return fmt::format("{}-{:05}.bin", split_name(split), index);
}

bool is_cache(const Path& directory) {
  return std::filesystem::is_regular_file(file_status(directory / kManifestName));
}

std::string manifest_identity(Json manifest) {
  manifest.erase("identity");
  return sha256_hex(canonical_json(manifest));
}

Json manifest_to_json(const CacheManifest& manifest) {
  Json json = {
      {"format", kManifestFormat},
      {"version", kCacheVersion},
      {"dataset", manifest.dataset},
      {"revision", manifest.revision},
      {"tokenizer_sha256", manifest.tokenizer_sha256},
      {"vocab_size", manifest.vocab_size},
      {"eos_id", manifest.eos_id},
      {"preprocessing",
       {{"shuffle_seed", manifest.shuffle_seed}, {"shuffle_buffer", manifest.shuffle_buffer}}},
      {"shard_tokens", manifest.shard_tokens},
      {"train_complete", manifest.train.complete},
      {"validation_complete", manifest.validation.complete},
      {"train", split_to_json(manifest.train)},
      {"validation", split_to_json(manifest.validation)},
  };
  json["identity"] = manifest_identity(json);
  return json;
}

CacheManifest read_manifest(const Path& path) {
  return manifest_from_json(read_json(path), path);
}

CacheManifest manifest_from_json(const Json& json, const Path& path) {
  const FieldReader fields(json, path, "");
  if (fields.text("format") != kManifestFormat || fields.count("version") != kCacheVersion) {
    fail(ErrorKind::kData, "{}: expected format \"{}\" version {}, found \"{}\" version {}",
         path.string(), kManifestFormat, kCacheVersion, fields.text("format"),
         fields.count("version"));
  }
  const std::string identity = manifest_identity(json);
  if (fields.text("identity") != identity) {
    fail(ErrorKind::kData,
         "{}: it was changed after it was written: its identity says {}, its contents give {}",
         path.string(), fields.text("identity"), identity);
  }
  CacheManifest manifest;
  manifest.identity = identity;
  manifest.dataset = fields.text("dataset");
  manifest.revision = fields.text("revision");
  manifest.tokenizer_sha256 = fields.text("tokenizer_sha256");
  manifest.vocab_size = fields.count("vocab_size");
  manifest.eos_id = fields.count("eos_id");
  const FieldReader preprocessing(fields.at("preprocessing"), path, "preprocessing");
  manifest.shuffle_seed = preprocessing.seed("shuffle_seed");
  manifest.shuffle_buffer = preprocessing.count("shuffle_buffer");
  manifest.shard_tokens = fields.count("shard_tokens");
  manifest.train = split_from_json(fields.at("train"), path, Split::kTrain);
  manifest.validation = split_from_json(fields.at("validation"), path, Split::kValidation);
  manifest.train.complete = fields.flag("train_complete");
  manifest.validation.complete = fields.flag("validation_complete");
  if (manifest.vocab_size < 1 || manifest.vocab_size > kMaxVocabulary ||
      manifest.eos_id >= manifest.vocab_size) {
    fail(ErrorKind::kData, "{}: a vocabulary of {} with end-of-sequence id {} is impossible",
         path.string(), manifest.vocab_size, manifest.eos_id);
  }
  check_shards(manifest.train, Split::kTrain, manifest.shard_tokens, path);
  check_shards(manifest.validation, Split::kValidation, manifest.shard_tokens, path);
  return manifest;
}

}  // namespace saddle::data
