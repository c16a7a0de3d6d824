// What on this machine would keep inferd from working well, each with what to do about it. Nothing is changed, and no
// daemon is needed.
//
//   for (const Finding& finding : Examine({.config_file = "/etc/inferd/inferd.yaml"})) ...
//   return PrintFindings(findings, /*as_json=*/false);       // 1 if one is a fault
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "daemon/memory.h"

namespace inferd::daemon {

enum class Verdict { kGood, kHint, kFault };

struct Finding {
  std::string subject;  // "memory"
  Verdict verdict;
  std::string found;   // "17 GiB are available, the models take 12 GiB"
  std::string advice;  // what to do; empty where nothing is to be done
};

struct ExamineOptions {
  std::string config_file;
  std::string root;  // before /proc, /sys and /dev; tests put folders of their own there
};

std::vector<Finding> Examine(const ExamineOptions& options);

// Of what the kernel tells alone: huge pages, governor, quota, clock, instruction set, sandbox, GPU.
std::vector<Finding> ExamineMachine(const std::string& root);
// Of the configuration, its files, ports and limits. `running`: a daemon answers on its admin socket.
std::vector<Finding> ExamineConfiguration(const std::string& config_file, const std::string& root);

int PrintFindings(const std::vector<Finding>& findings, bool as_json);

}  // namespace inferd::daemon
