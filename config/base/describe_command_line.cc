#include "config/base/describe_command_line.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

namespace inferd {
namespace {

namespace json = boost::json;

// "a" and "b" of the type "TEXT:{a,b}".
json::array ChoicesIn(const std::string& type) {
  json::array choices;
  const size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos) return choices;
  for (const std::string& choice : CLI::detail::split(type.substr(begin + 1, end - begin - 1), ',')) {
    choices.emplace_back(choice.substr(0, choice.find("->")));
  }
  return choices;
}

json::object Describe(const CLI::Option& option) {
  json::object out;
  json::array names;
  for (const std::string& name : option.get_snames()) names.emplace_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.emplace_back("--" + name);
  out["names"] = std::move(names);
  const bool is_flag = option.get_items_expected_max() == 0;
  const std::string type = option.get_type_name();
  out["positional"] = option.get_positional();
  out["place"] = option.get_name(/*positional=*/true);
  out["value"] = is_flag ? "" : type.substr(0, type.find_first_of(":{ "));
  out["choices"] = ChoicesIn(type);
  out["default"] = is_flag ? "" : option.get_default_str();
  out["required"] = option.get_required();
  out["several"] = option.get_items_expected_max() > 1;
  out["help"] = option.get_description();
  return out;
}

void AddOptions(const CLI::App& app, json::array& options) {
  for (const CLI::Option* option : app.get_options()) {
    const bool of_a_group = app.get_name().empty() && option == app.get_help_ptr();  // who has --help by itself
    if (!option->get_group().empty() && !of_a_group) options.push_back(Describe(*option));
  }
  // Groups of options are applications without a name.
  for (const CLI::App* group : app.get_subcommands([](const CLI::App* inner) { return inner->get_name().empty(); })) {
    AddOptions(*group, options);
  }
}

json::object Describe(const CLI::App& app) {
  json::object out;
  json::array options, verbs;
  AddOptions(app, options);
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App* inner) { return !inner->get_name().empty(); })) {
    if (!verb->get_group().empty()) verbs.push_back(Describe(*verb));
  }
  out["name"] = app.get_name();
  out["text"] = app.get_description();
  out["footer"] = app.get_footer();
  out["options"] = std::move(options);
  out["verbs"] = std::move(verbs);
  return out;
}

}  // namespace

std::string DescribeCommandLine(const CLI::App& app) { return json::serialize(Describe(app)); }

}  // namespace inferd
