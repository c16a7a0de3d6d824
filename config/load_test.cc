#include "config/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/base/source_folder.h"
#include "config/base/status.h"
#include "config/options.h"

namespace inferd::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kFile[] = "/etc/inferd/inferd.yaml";
const std::string kDeep(5000, '[');
constexpr char kOneModel[] = "models:\n  - name: chat\n    path: chat.gguf\n";

std::string ErrorOf(std::string_view text) {
  const auto config = ParseConfig(text, kFile);
  EXPECT_FALSE(config.ok()) << text;
  return std::string(MessageOf(config.status()));
}

TEST(LoadConfig, WhatIsLeftOutHasItsDefault) {
  const auto config = ParseConfig("models: []\n", kFile);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.http.ToString(), "127.0.0.1:8080");
  EXPECT_EQ(config->listen.admin.ToString(), "unix:/run/inferd/admin.sock");
  EXPECT_TRUE(config->models.empty());
  EXPECT_EQ(config->supervisor.drain, Milliseconds(30'000));
}

TEST(LoadConfig, TakesEveryKindOfValue) {
  const auto config = ParseConfig(R"(
listen: {http: "[::1]:80", admin: unix:/tmp/a.sock}
run_directory: /tmp/run/
instruction_set: reference
models:
  - name: a/b
    path: /m/a.gguf
    aliases: [x, "y"]
    kv_cache: {bytes: 1GiB, type: q8_0, save: p/a.prefixes, save_bytes: 2MiB}
    queue: {max_wait: 1500ms}
    chat_template: llama2
  - {name: c, path: ../c.gguf, context: 0, chat_template_file: mine.jinja}
log:
)",
                                  kFile);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->listen.http, (Address{.host = "::1", .port = 80}));
  EXPECT_EQ(config->listen.admin.path, "/tmp/a.sock");
  EXPECT_EQ(config->run_directory, "/tmp/run");
  EXPECT_EQ(config->instruction_set, InstructionSet::kReference);
  ASSERT_EQ(config->models.size(), 2u);
  EXPECT_THAT(config->models[0].aliases, ElementsAre("x", "y"));
  EXPECT_EQ(config->models[0].kv_cache.bytes, uint64_t{1} << 30);
  EXPECT_EQ(config->models[0].kv_cache.type, CacheType::kQ8_0);
  EXPECT_EQ(config->models[0].kv_cache.save, "/etc/inferd/p/a.prefixes");
  EXPECT_EQ(config->models[0].kv_cache.save_bytes, 2u << 20);
  EXPECT_EQ(config->models[0].queue.max_wait, Milliseconds(1500));
  EXPECT_EQ(config->models[0].chat_template, ChatTemplate::kLlama2);
  EXPECT_EQ(config->models[1].chat_template, ChatTemplate::kFile);
  EXPECT_EQ(config->models[1].chat_template_file, "/etc/inferd/mine.jinja");
  EXPECT_EQ(config->FindModel("c")->path, "/etc/c.gguf");
  EXPECT_EQ(config->FindModel("x"), nullptr);
}

struct BadConfig {
  const char* rule;
  const char* text;
  const char* error;  // what the message has after "/etc/inferd/inferd.yaml:"
};

class LoadConfigErrors : public testing::TestWithParam<BadConfig> {};

TEST_P(LoadConfigErrors, NameFileLineAndKey) {
  EXPECT_THAT(ErrorOf(GetParam().text), StartsWith(std::string(kFile) + ":" + GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, LoadConfigErrors,
    testing::Values(
        BadConfig{"UnknownKey", "log: {level: info}\nlisten:\n  htp: 1\n",
                  "3: listen.htp: unknown key, expected one of admin, admin_group, admin_tcp, grpc, http"},
        BadConfig{"UnknownTopKey", "modles: []\n", "1: modles: unknown key"},
        BadConfig{"DuplicateKey", "log: {level: info}\nlog: {level: info}\n", "2: log: key is there twice"},
        BadConfig{"WrongUnit", "limits:\n  body: 10MMB\n", "2: limits.body: \"10MMB\" is not a size"},
        BadConfig{"NegativeSize", "limits: {body: -1}\n", "1: limits.body: \"-1\" is not a size"},
        BadConfig{"SizeBeyond64Bits", "limits: {body: 99999999999TiB}\n",
                  "1: limits.body: \"99999999999TiB\" is not a size"},
        BadConfig{"FractionOfSize", "limits: {body: 1.5MiB}\n", "1: limits.body: \"1.5MiB\" is not a size"},
        BadConfig{"HeadThatNoConnectionReads", "limits: {header: 65KiB}\n",
                  "1: limits.header: 65KiB is out of range 1KiB..64KiB"},
        BadConfig{"OutOfRange", "limits: {body: 2GiB}\n", "1: limits.body: 2GiB is out of range 1KiB..1GiB"},
        BadConfig{"DurationWithoutUnit", "supervisor: {drain: 30}\n", "1: supervisor.drain: \"30\" is not a duration"},
        BadConfig{"NotANumber", "limits: {connections: many}\n",
                  "1: limits.connections: \"many\" is not a whole number"},
        BadConfig{"ListForValue", "limits: {connections: [1]}\n", "1: limits.connections: a list, expected a value"},
        BadConfig{"NothingForValue", "limits:\n  connections:\n", "2: limits.connections: nothing, expected a value"},
        BadConfig{"ValueForSection", "log: info\n", "1: log: a value, expected a section"},
        BadConfig{"SectionForList", "models: {name: a}\n", "1: models: a section, expected a list"},
        BadConfig{"ValueForList", "models:\n  - name: a\n    path: b\n    aliases: c\n",
                  "4: models[0].aliases: a value, expected a list"},
        BadConfig{"ListAtTop", "- a\n", "1: a list, expected a section"},
        BadConfig{"TwoTemplates",
                  "models:\n  - name: a\n    path: b\n    chat_template: chatml\n    chat_template_file: c\n",
                  "5: models[0].chat_template_file: is the template, and chat_template names chatml as well"},
        BadConfig{"NotOneOf", "log: {level: loud}\n",
                  "1: log.level: \"loud\" is not one of debug, info, warning, error"},
        BadConfig{"NeitherTrueNorFalse", "models:\n  - name: a\n    path: b\n    engine: {blas: yes}\n",
                  "4: models[0].engine.blas: \"yes\" is not one of false, true"},
        BadConfig{"AddressWithoutPort", "listen: {http: localhost}\n",
                  "1: listen.http: \"localhost\": expected host:port"},
        BadConfig{"AddressWithName", "listen: {http: \"example.com:80\"}\n",
                  "1: listen.http: \"example.com:80\": host"},
        BadConfig{"PortTooLarge", "listen: {http: \"127.0.0.1:65536\"}\n", "1: listen.http: \"127.0.0.1:65536\": port"},
        BadConfig{"AdminOverTcp", "listen:\n  admin: 127.0.0.1:1\n",
                  "2: listen.admin: 127.0.0.1:1 is not a unix socket"},
        BadConfig{"GrpcBeyondLoopback", "listen:\n  http: 0.0.0.0:1\n  grpc: 0.0.0.0:2\n",
                  "3: listen.grpc: 0.0.0.0:2 is not on loopback, which needs auth.keys_file"},
        BadConfig{"GrpcOnEveryIpv6Address", "listen: {grpc: \"[::]:2\"}\n",
                  "1: listen.grpc: [::]:2 is not on loopback"},
        BadConfig{"NameMissing", "models:\n  - path: b\n", "2: models[0].name: required key is missing"},
        BadConfig{"PathMissing", "models:\n  - name: b\n", "2: models[0].path: required key is missing"},
        BadConfig{"NameTwice", "models:\n  - {name: a, path: b}\n  - {name: a, path: c}\n",
                  "3: models[1].name: \"a\" is already the value of models[0].name"},
        BadConfig{"AliasIsAName", "models:\n  - {name: a, path: b}\n  - {name: c, path: c, aliases: [d, a]}\n",
                  "3: models[1].aliases[1]: \"a\" is already the value of models[0].name"},
        BadConfig{"NameWithSpace", "models:\n  - {name: a b, path: b}\n",
                  "2: models[0].name: \"a b\" is not a model name"},
        BadConfig{"FirstDelayAboveMax", "supervisor:\n  restart:\n    first_delay: 2s\n    max_delay: 1s\n",
                  "3: supervisor.restart.first_delay: 2000ms is more than max_delay"},
        BadConfig{"AdminTcpWithoutCertificate",
                  "listen:\n  admin_tcp: 127.0.0.1:1\nadmin_tls: {key: k, client_ca: c}\n",
                  "2: listen.admin_tcp: needs admin_tls.certificate, which is not set"},
        BadConfig{"AdminTcpOnASocket", "listen:\n  admin_tcp: unix:/tmp/x\n",
                  "2: listen.admin_tcp: unix:/tmp/x is a unix socket"},
        BadConfig{"WrongCpuList", "models:\n  - {name: a, path: b, cpus: 3-1}\n",
                  "2: models[0].cpus: \"3-1\" is not a list of processors"},
        BadConfig{"MemoryLimitBelowThePool", "models:\n  - {name: a, path: b, memory_limit: 64MiB}\n",
                  "2: models[0].memory_limit: 64MiB is not more than kv_cache.bytes, 512MiB"},
        BadConfig{
            "TwoModelsOneFileOfPrefixes",
            "models:\n  - {name: a, path: b, kv_cache: {save: /x}}\n  - {name: c, path: b, kv_cache: {save: /x.2}}\n",
            "3: models[1].kv_cache.save: /x.2 is taken by models[0].kv_cache.save"},
        BadConfig{"PrefixesInTheFileOfAModel",
                  "models:\n  - {name: a, path: /x.2}\n  - {name: c, path: b, kv_cache: {save: /x}}\n",
                  "3: models[1].kv_cache.save: /x.2 is the file of a model"},
        BadConfig{"PrefixesInTheFileOfADraftModel",
                  "models:\n  - {name: c, path: b, kv_cache: {save: /d}, speculation: {kind: draft, draft_path: /d}}\n",
                  "2: models[0].kv_cache.save: /d is the file of a model"},
        BadConfig{"NotAFlag", "models:\n  - {name: a, path: b, pinned: maybe}\n",
                  "2: models[0].pinned: \"maybe\" is not one of false, true"},
        BadConfig{"LongRunDirectory",
                  "run_directory: /"
                  "0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789/0123456789\n",
                  "1: run_directory:"},
        BadConfig{"EmptyFile", "", "1: models: required key is missing ([] for an empty list)"},
        BadConfig{"CommentsAlone", "# nothing\n\n", "1: models: required key is missing"},
        BadConfig{"NoModels", "log: {level: info}\n", "1: models: required key is missing"},
        BadConfig{"NothingForModels", "log: {level: info}\nmodels:\n", "2: models: nothing, expected a list"},
        BadConfig{"SecondDocument", "models: []\n---\nmodels: []\n", "3: a second document begins here"},
        BadConfig{"TwoListenersOnOnePort", "listen:\n  http: 127.0.0.1:80\n  grpc: 127.0.0.1:80\nmodels: []\n",
                  "3: listen.grpc: 127.0.0.1:80 is taken by listen.http"},
        BadConfig{"AListenerOnEveryAddress", "listen: {http: \"0.0.0.0:80\", grpc: 127.0.0.1:80}\nmodels: []\n",
                  "1: listen.grpc: 127.0.0.1:80 is taken by listen.http, 0.0.0.0:80"},
        BadConfig{"TwoListenersOnOneSocket", "listen:\n  http: unix:/tmp/a\n  admin: unix:/tmp/a\nmodels: []\n",
                  "3: listen.admin: unix:/tmp/a is taken by listen.http"},
        BadConfig{"TheDefaultPortOfAnother", "listen:\n  http: 127.0.0.1:8090\nmodels: []\n", " listen.grpc: "},
        BadConfig{"AllBodiesBelowOne", "limits: {body: 2MiB, all_bodies: 1MiB}\nmodels: []\n",
                  "1: limits.all_bodies: 1048576 bytes are less than limits.body"},
        BadConfig{"Tab", "models: []\nlimits:\n\tbody: 1MiB\n", "3: a tab in the indentation, expected spaces"},
        BadConfig{"Depth", kDeep.c_str(), "1: nested too deeply"},
        BadConfig{"BrokenYaml", "log: {level: info\n", "2: "},
        BadConfig{"TheFirstOfTwo", "limits: {body: x}\nlog: {level: y}\n", "1: limits.body"}),
    [](const auto& info) { return std::string(info.param.rule); });

TEST(LoadConfig, ADocumentMayEndWithItsMark) {
  for (const char* text : {"models: []\n---\n", "---\nmodels: []\n...\n", "models: []\n---\n# nothing\n"}) {
    EXPECT_TRUE(ParseConfig(text, kFile).ok()) << text;
  }
}

TEST(LoadConfig, PortsThatTheSystemChoosesDiffer) {
  EXPECT_TRUE(ParseConfig("listen: {http: 127.0.0.1:0, grpc: 127.0.0.1:0}\nmodels: []\n", kFile).ok());
}

TEST(LoadConfig, NamesAFileThatIsNotThere) {
  const auto config = LoadConfig("/nowhere/inferd.yaml");
  EXPECT_EQ(config.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(MessageOf(config.status())), HasSubstr("/nowhere/inferd.yaml"));
}

TEST(LoadConfig, SampleShowsTheDefaults) {
  const auto sample = LoadConfig((SourceFolder() / "config/inferd.yaml").string());
  ASSERT_TRUE(sample.ok()) << sample.status();
  ASSERT_EQ(sample->models.size(), 1u);
  auto defaults =
      ParseConfig("models: [{name: smollm2, aliases: [default], path: " + sample->models[0].path + "}]", kFile);
  ASSERT_TRUE(defaults.ok()) << defaults.status();
  EXPECT_EQ(PrintConfig(*sample), PrintConfig(*defaults));
}

TEST(PrintConfig, ReadsBackTheSame) {
  const auto config = ParseConfig(R"(
listen: {http: "0.0.0.0:1", grpc: unix:/tmp/g}
models: [{name: "null", path: "/a \"b\"\\c: #d", aliases: ["true", "7"], context: 5, kv_cache: {bytes: 1234567},
          engine: {blas: true}}]
supervisor: {drain: 1234ms, restart: {max: 0}}
log: {level: debug, format: text}
)",
                                  kFile);
  ASSERT_TRUE(config.ok()) << config.status();
  const std::string printed = PrintConfig(*config);
  const auto again = ParseConfig(printed, "/elsewhere/x.yaml");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(PrintConfig(*again), printed);
  EXPECT_EQ(again->models[0].name, "null");
  EXPECT_EQ(again->models[0].path, "/a \"b\"\\c: #d");
  EXPECT_EQ(again->models[0].kv_cache.bytes, 1234567u);
  EXPECT_TRUE(again->models[0].engine.blas);
  EXPECT_EQ(again->supervisor.drain, Milliseconds(1234));
}

TEST(PrintOptionReference, ShowsDefaultsAndRanges) {
  const std::string reference = PrintOptionReference();
  EXPECT_THAT(reference, HasSubstr("max_sequences: 32"));
  EXPECT_THAT(reference, HasSubstr("(1..4096)"));
}

TEST(ParseConfig, KeepsDefaultsOfAModelBesideGivenValues) {
  const auto config = ParseConfig(kOneModel, kFile);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->models[0].path, "/etc/inferd/chat.gguf");
  EXPECT_EQ(config->models[0].context, 8192u);
}

}  // namespace
}  // namespace inferd::config
