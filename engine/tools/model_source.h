// Where a model is fetched from: an address, a local file, or a repository of the Hugging Face hub.
//
//   ASSIGN_OR_RETURN(ModelSource source, ParseSource("hf:bartowski/SmolLM2-135M-Instruct-GGUF:Q4_K_M"));
//   ASSIGN_OR_RETURN(std::vector<RemoteFile> files, ResolveSource(source, hub, http));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/tools/http_fetch.h"

namespace inferd::tools {

struct ModelSource {
  enum class Kind { kUrl, kPath, kHub } kind;
  std::string location;      // address, path, or owner/repo
  std::string quantization;  // of the hub: part of the file's name, any case; empty: the repository's only model
};

// One file to fetch; a model in several parts has several.
struct RemoteFile {
  std::string url;     // or a path, for local sources
  std::string name;    // of the file to write, without a folder
  uint64_t bytes = 0;  // 0: unknown
  std::string sha256;  // hex; empty: unknown
};

// INVALID_ARGUMENT says what a source looks like.
absl::StatusOr<ModelSource> ParseSource(std::string_view text);

// Of the hub's answer to its API's GET {hub}/api/models/{repo}/tree/main. NOT_FOUND lists the choices if no file, and
// INVALID_ARGUMENT if more than one model, matches; INTERNAL: it is no list of files.
absl::StatusOr<std::vector<RemoteFile>> FilesOfListing(const ModelSource& source, const std::string& hub,
                                                       std::string_view listing);

// Asks the hub where needed, with the errors of FilesOfListing.
absl::StatusOr<std::vector<RemoteFile>> ResolveSource(const ModelSource& source, const std::string& hub,
                                                      const HttpFetch& http);

}  // namespace inferd::tools
