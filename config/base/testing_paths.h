// Where tests find the files that the tree does not hold; they skip what is not on the machine.
//
//   if (!std::filesystem::exists(TestModelPath())) GTEST_SKIP() << TestModelPath() << " is not on this machine";
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "config/base/source_folder.h"

namespace inferd {

// Right answers from independent implementations.
inline std::filesystem::path OraclesPath() { return SourceFolder() / "../shared/oracles"; }

// Small models whose right logits are among the oracles, made by ../shared/oracles/archs/make_models.py:
// INFERD_TEST_ARCHS, or where tests/run.sh puts them.
inline std::filesystem::path OracleModelsPath() {
  if (const char* models = std::getenv("INFERD_TEST_ARCHS")) return models;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : "") / ".cache/inferd/archs";
}

// SmolLM2-135M-Instruct Q4_1: INFERD_TEST_MODEL, or where deploy/run.sh puts it.
inline std::filesystem::path TestModelPath() {
  if (const char* model = std::getenv("INFERD_TEST_MODEL")) return model;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : "") / ".cache/inferd/SmolLM2-135M-Instruct.Q4_1.gguf";
}

// How often tests that draw their cases draw more of them: INFERD_TEST_ROUNDS.
inline uint32_t TestRounds(uint32_t otherwise) {
  const char* rounds = std::getenv("INFERD_TEST_ROUNDS");
  return rounds != nullptr ? static_cast<uint32_t>(std::strtoul(rounds, nullptr, 10)) : otherwise;
}

}  // namespace inferd
