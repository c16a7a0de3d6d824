// Precompiled for the tools: the libraries that nearly every verb includes.
#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>
