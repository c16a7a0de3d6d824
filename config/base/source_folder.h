// Where the tree lies that the tests were built from, for test data. A library of its own, so that only one object of
// a build depends on the folder and a compiler cache serves all checkouts.
//
//   const std::string sample = ReadSmallFile((SourceFolder() / "config/inferd.yaml").string()).value();
#pragma once

#include <filesystem>

namespace inferd {

std::filesystem::path SourceFolder();

}  // namespace inferd
