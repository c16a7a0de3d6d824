// The templates of ../shared/oracles, for tests.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include "config/base/source_folder.h"
#include "engine/conversation/abilities.h"
#include "engine/template/chat_template.h"
#include "engine/template/test_support.h"

namespace inferd::conversation {

struct TestTemplate {
  std::unique_ptr<chat_template::ChatTemplate> chat;
  absl::StatusOr<Abilities> abilities = Abilities();
  std::filesystem::path cases;
};

inline const boost::json::object& TestVariables() {
  static const auto* const variables = new boost::json::object{{"bos_token", "<s>"}, {"eos_token", "</s>"}};
  return *variables;
}

inline TestTemplate MakeTestTemplate(std::string_view source) {
  TestTemplate test{.chat = *chat_template::ChatTemplate::Parse(source)};
  test.abilities = ProbeAbilities(*test.chat, TestVariables());
  return test;
}

// By name; empty where the files are not there.
inline const std::map<std::string, TestTemplate>& AllTemplates() {
  static const auto* const all = [] {
    auto* const templates = new std::map<std::string, TestTemplate>;
    const std::filesystem::path folder = std::filesystem::path(SourceFolder()) / "../shared/oracles/templates";
    if (!std::filesystem::exists(folder)) return templates;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".jinja") continue;
      TestTemplate test = MakeTestTemplate(chat_template::ReadFile(entry.path()));
      test.cases = std::filesystem::path(entry.path()).replace_extension(".cases.json");
      templates->emplace(entry.path().stem().string(), std::move(test));
    }
    return templates;
  }();
  return *all;
}

}  // namespace inferd::conversation
