// GET /v1/models and GET /v1/models/{id}, in the form of Anthropic's API
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value_from.hpp>
#include <charconv>
#include <vector>

#include "absl/time/time.h"
#include "config/base/status.h"
#include "gateway/anthropic/endpoints.h"
#include "gateway/anthropic/version.h"
#include "gateway/api/model_of_path.h"
#include "gateway/api/respond.h"
#include "gateway/http/query.h"
#include "gateway/json/valid_text.h"
#include "gateway/routing/route_table.h"
#include "gateway/routing/routes.h"
#include "gateway/serving/model_info.h"

namespace inferd::gateway {
namespace {

namespace json = boost::json;

// A part of the list: so many models after one, or before one.
struct Page {
  size_t limit = 20;
  std::string after;
  std::string before;
  std::vector<std::string> warnings;
};

absl::StatusOr<Page> ReadPage(std::string_view query) {
  constexpr size_t kMost = 1000;
  Page page;
  ASSIGN_OR_RETURN(const std::vector<QueryParameter> parameters, ParseQuery(query));
  for (const auto& [name, value] : parameters) {
    if (name == "limit") {
      const auto parsed = std::from_chars(value.data(), value.data() + value.size(), page.limit);
      const bool whole = parsed.ec == std::errc() && parsed.ptr == value.data() + value.size();
      if (!whole || page.limit < 1 || page.limit > kMost) {
        return InvalidField("limit", "'{}' is not an integer in 1..{}", ValidText(value, 64), kMost);
      }
    } else if (name == "after_id") {
      page.after = value;
    } else if (name == "before_id") {
      page.before = value;
    } else if (name != "beta") {  // by which clients choose among types of their own
      page.warnings.push_back(fmt::format("unknown query parameter '{}' was ignored", ValidText(name, 64)));
    }
  }
  if (!page.after.empty() && !page.before.empty()) {
    return InvalidField("before_id", "only one of this and after_id can be given");
  }
  return page;
}

// The models of the page, and whether there are more in its direction.
struct Slice {
  std::vector<const ModelRoute*> routes;
  bool has_more = false;
};

absl::StatusOr<Slice> SliceOf(const std::vector<const ModelRoute*>& all, const Page& page) {
  const bool backwards = !page.before.empty();
  const std::string& edge = backwards ? page.before : page.after;
  auto place = all.begin();
  if (!edge.empty()) {
    place = std::find_if(all.begin(), all.end(), [&](const ModelRoute* route) { return route->model == edge; });
    if (place == all.end()) {
      return InvalidField(backwards ? "before_id" : "after_id", "the model '{}' does not exist", ValidText(edge, 128));
    }
    if (!backwards) ++place;
  }
  const auto there = static_cast<size_t>(backwards ? place - all.begin() : all.end() - place);
  const auto count = static_cast<ptrdiff_t>(std::min(page.limit, there));
  const auto first = backwards ? place - count : place;
  return Slice{.routes = {first, first + count}, .has_more = there > page.limit};
}

json::object ModelJson(const ModelRoute& route, const v1::ModelInfo& info) {
  const absl::Time created = absl::FromUnixSeconds(info.created_unix_seconds());
  json::object object{{"type", "model"}, {"id", route.model}, {"display_name", route.model}, {"lifecycle", "active"}};
  object["created_at"] = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", created, absl::UTCTimeZone());
  if (info.context_tokens() > 0) {
    object["max_input_tokens"] = info.context_tokens();
    object["max_tokens"] = info.context_tokens();
  }
  return object;
}

}  // namespace

Task<void> ServeAnthropicModels(const Serving& serving, Exchange& exchange) {
  const absl::StatusOr<std::vector<std::string>> version = ReadVersion(exchange.request);
  if (!version.ok()) co_return co_await RespondError(exchange, version.status());
  absl::StatusOr<Page> page = ReadPage(exchange.request.query);
  if (!page.ok()) co_return co_await RespondError(exchange, page.status());
  page->warnings.insert(page->warnings.begin(), version->begin(), version->end());
  std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
  const absl::StatusOr<Slice> slice = SliceOf(VisibleModels(*table, exchange), *page);
  if (!slice.ok()) co_return co_await RespondError(exchange, slice.status());
  const std::vector<const ModelRoute*>& routes = slice->routes;
  const std::vector<v1::ModelInfo> infos =
      co_await AskForModelInfos(serving.upstream, routes, exchange.request_id, exchange.executor());
  json::array data;
  for (size_t i = 0; i < routes.size(); ++i) data.push_back(ModelJson(*routes[i], infos[i]));
  json::object body{{"data", std::move(data)}, {"has_more", slice->has_more}};
  body["first_id"] = routes.empty() ? json::value(nullptr) : json::value(routes.front()->model);
  body["last_id"] = routes.empty() ? json::value(nullptr) : json::value(routes.back()->model);
  if (!page->warnings.empty()) body["warnings"] = json::value_from(page->warnings);
  Response response;
  response.body = json::serialize(body);
  co_await exchange.Respond(std::move(response));
}

Task<void> ServeAnthropicModel(const Serving& serving, Exchange& exchange) {
  const absl::StatusOr<std::vector<std::string>> version = ReadVersion(exchange.request);
  if (!version.ok()) co_return co_await RespondError(exchange, version.status());
  std::shared_ptr<const RouteTable> table = serving.upstream.routes.Current();
  const absl::StatusOr<const ModelRoute*> route = FindModelOfPath(*table, exchange);
  if (!route.ok()) co_return co_await RespondError(exchange, route.status());
  const v1::ModelInfo info =
      co_await AskForModelInfo(serving.upstream, **route, exchange.request_id, exchange.executor());
  Response response;
  json::object body = ModelJson(**route, info);
  if (!version->empty()) body["warnings"] = json::value_from(*version);
  response.body = json::serialize(body);
  co_await exchange.Respond(std::move(response));
}

}  // namespace inferd::gateway
