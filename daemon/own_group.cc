// Lines "ID:CONTROLLERS:PATH", with ID 0 and no controllers for version 2 (cgroups(7)). Controllers are separated by
// commas; a path may have colons.
#include "daemon/own_group.h"

#include <fstream>
#include <string_view>

namespace inferd::daemon {
namespace {

bool HasController(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    const size_t end = list.find(',');
    if (list.substr(0, end) == wanted) return true;
    list.remove_prefix(end == list.npos ? list.size() : end + 1);
  }
  return false;
}

}  // namespace

OwnGroup FindOwnGroup(const std::string& proc) {
  OwnGroup found;
  std::ifstream stream(proc + "/self/cgroup");
  for (std::string line; std::getline(stream, line);) {
    const size_t id_end = line.find(':');
    const size_t list_end = id_end == line.npos ? line.npos : line.find(':', id_end + 1);
    if (list_end == line.npos) continue;
    const std::string_view id = std::string_view(line).substr(0, id_end);
    const std::string_view list = std::string_view(line).substr(id_end + 1, list_end - id_end - 1);
    if (id == "0" && list.empty()) found.unified = line.substr(list_end + 1);
    if (HasController(list, "memory")) found.memory = line.substr(list_end + 1);
  }
  return found;
}

}  // namespace inferd::daemon
