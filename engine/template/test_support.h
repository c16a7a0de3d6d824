// What the tests of this folder share.
#pragma once

#include <boost/json.hpp>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/status/statusor.h"
#include "engine/template/chat_template.h"

namespace inferd::chat_template {

inline std::string ReadFile(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The date that the expected texts were made with: Sunday 2026-11-29 12:34:56.
inline std::tm TestTime() {
  std::tm now{};
  now.tm_year = 126;
  now.tm_mon = 10;
  now.tm_mday = 29;
  now.tm_hour = 12;
  now.tm_min = 34;
  now.tm_sec = 56;
  now.tm_wday = 0;
  now.tm_yday = 332;
  return now;
}

inline absl::StatusOr<RenderedPrompt> RenderSource(std::string_view source, std::string_view request = "{}",
                                                   std::string_view model = "{}", const Limits& limits = {}) {
  auto chat = ChatTemplate::Parse(source, limits);
  if (!chat.ok()) return chat.status();
  const boost::json::value request_json = boost::json::parse({request.data(), request.size()});
  const boost::json::value model_json = boost::json::parse({model.data(), model.size()});
  return (*chat)->Render(request_json.as_object(), model_json.as_object(), TestTime());
}

}  // namespace inferd::chat_template
