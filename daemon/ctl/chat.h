// The terminal chat of inferctl: a prompt, commands that begin with /, streamed answers.
#pragma once

#include <memory>
#include <string>

#include "daemon/ctl/conversation.h"

namespace inferd::daemon {

// Until the end of input or /quit; SIGINT, read from the signalfd `interrupts`, stops an answer and not the program.
// The exit code.
int RunChat(std::shared_ptr<grpc::Channel> channel, const ChatOptions& options, int interrupts);

// One question, one answer on standard output. The exit code.
int AskOnce(std::shared_ptr<grpc::Channel> channel, const ChatOptions& options, const std::string& message,
            int interrupts);

}  // namespace inferd::daemon
