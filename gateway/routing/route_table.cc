#include "gateway/routing/route_table.h"

#include <algorithm>

#include "inferd/v1/admin.pb.h"

namespace inferd::gateway {

const VersionRoute* ModelRoute::FindVersion(uint64_t version) const {
  auto found = std::find_if(versions.begin(), versions.end(), [&](const auto& v) { return v.version == version; });
  return found == versions.end() ? nullptr : &*found;
}

bool ModelRoute::serving() const {
  return std::any_of(versions.begin(), versions.end(), [](const auto& v) { return v.ready() && v.weight > 0; });
}

bool ModelRoute::coming() const {
  return !serving() && std::any_of(versions.begin(), versions.end(), [](const auto& v) { return v.coming(); });
}

bool ModelRoute::loadable() const {
  return std::any_of(versions.begin(), versions.end(), [](const auto& v) { return v.unloaded() && v.weight > 0; });
}

std::string_view ModelRoute::state() const {
  if (serving()) return "READY";
  auto coming = std::find_if(versions.begin(), versions.end(), [](const auto& v) { return v.coming(); });
  if (coming != versions.end()) return coming->state;
  return versions.empty() ? std::string_view("STOPPED") : std::string_view(versions.back().state);
}

RouteTable::RouteTable(const v1::RouteSnapshot& snapshot) : revision_(snapshot.revision()) {
  for (const v1::Route& from : snapshot.routes()) {
    ModelRoute route;
    route.model = from.model();
    route.aliases.assign(from.aliases().begin(), from.aliases().end());
    route.expected = from.expected();
    route.on_demand = from.on_demand();
    for (const v1::RouteVersion& version : from.versions()) {
      route.versions.push_back({.version = version.version(),
                                .address = version.address(),
                                .weight = version.weight(),
                                .state = version.state(),
                                .fingerprint = version.fingerprint(),
                                .updated_unix_seconds = version.updated_unix_seconds(),
                                .last_error = version.last_error()});
    }
    models_.push_back(std::move(route));
  }
  // A name wins over an alias of the same spelling, the first alias over later ones.
  for (size_t i = 0; i < models_.size(); ++i) by_name_.emplace(models_[i].model, i);
  for (size_t i = 0; i < models_.size(); ++i) {
    for (const std::string& alias : models_[i].aliases) by_name_.emplace(alias, i);
  }
}

const ModelRoute* RouteTable::Find(std::string_view name_or_alias) const {
  auto found = by_name_.find(name_or_alias);
  return found == by_name_.end() ? nullptr : &models_[found->second];
}

const VersionRoute* PickVersion(const ModelRoute& route, uint64_t sticky) {
  uint64_t total = 0;
  for (const VersionRoute& version : route.versions) total += version.ready() ? version.weight : 0;
  if (total == 0) return nullptr;
  uint64_t point = sticky % total;
  for (const VersionRoute& version : route.versions) {
    if (!version.ready()) continue;
    if (point < version.weight) return &version;
    point -= version.weight;
  }
  return nullptr;
}

uint64_t StickyHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccd;
  hash ^= hash >> 33;
  return hash;
}

}  // namespace inferd::gateway
