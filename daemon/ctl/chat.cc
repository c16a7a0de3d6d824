#include "daemon/ctl/chat.h"

#include <fmt/format.h>

#include <cstdio>

#include "config/base/child_process.h"
#include "config/base/json_string.h"
#include "config/base/print.h"
#include "config/base/status.h"
#include "config/environment.h"
#include "daemon/ctl/line_editor.h"
#include "daemon/ctl/status_view.h"

namespace inferd::daemon {
namespace {

constexpr char kHelp[] =
    "  /reset          forget the conversation\n"
    "  /system TEXT    what the model is told before the conversation (no TEXT: nothing)\n"
    "  /model NAME     talk to another model, with the same conversation\n"
    "  /help           this\n"
    "  /quit           leave; so does Ctrl-D\n"
    "  Ctrl-C stops an answer.\n";

void PrintError(const absl::Status& status) { inferd::PrintError("inferctl", MessageOf(status)); }

void PrintFacts(const AnswerFacts& facts) {
  if (facts.interrupted) return Print("\x1b[2m[stopped]\x1b[0m\n");
  const double rate = facts.decode_seconds > 0 ? facts.completion_tokens / facts.decode_seconds : 0;
  Print("\x1b[2m[{} tokens, {:.1f} tokens/s, first after {:.2f} s{}]\x1b[0m\n", facts.completion_tokens, rate,
        facts.first_token_seconds, facts.cut_at_limit ? ", cut at the limit" : "");
}

// False for /quit.
bool RunCommand(const std::string& line, Conversation& conversation) {
  const size_t space = line.find(' ');
  const std::string command = line.substr(0, space);
  const std::string rest = space == line.npos ? "" : line.substr(space + 1);
  if (command == "/quit" || command == "/exit") return false;
  if (command == "/reset") {
    conversation.Reset();
    Print("The conversation is forgotten.\n");
  } else if (command == "/system") {
    conversation.SetSystem(rest);
    Print("{}\n", rest.empty() ? "No system message." : "The system message is set.");
  } else if (command == "/model" && !rest.empty()) {
    conversation.SetModel(rest);
  } else {
    if (command != "/help") Print("{} is no command; these are:\n", Printable(line));
    Print("{}", kHelp);
  }
  return true;
}

absl::Status AskAndPrint(Conversation& conversation, const std::string& message, int interrupts) {
  bool at_line_start = true;
  const auto print = [&at_line_start](std::string_view text) {
    const std::string printable = Printable(text);
    std::fwrite(printable.data(), 1, printable.size(), stdout);
    std::fflush(stdout);
    if (!text.empty()) at_line_start = text.ends_with('\n');
  };
  const absl::Status status = conversation.Ask(message, print, interrupts);
  if (!at_line_start) print("\n");
  return status;
}

}  // namespace

int RunChat(std::shared_ptr<grpc::Channel> channel, const ChatOptions& options, int interrupts) {
  Conversation conversation(std::move(channel), options);
  const std::string home = config::HomeDirectory();
  LineEditor editor("> ", home.empty() ? "" : home + "/.inferctl_history", interrupts);
  if (editor.interactive()) Print("Talking to {}. /help lists the commands.\n", Printable(options.model));
  int exit_code = kExitDone;
  while (const std::optional<std::string> line = editor.Read()) {
    if (line->find_first_not_of(" \t") == line->npos) continue;
    if (!IsUtf8(*line)) {
      PrintError(InvalidArgument("the line is not valid UTF-8, it was not sent"));
      if (!editor.interactive()) exit_code = kExitFailed;
      continue;
    }
    if (line->starts_with('/')) {
      if (!RunCommand(*line, conversation)) break;
      continue;
    }
    const absl::Status status = AskAndPrint(conversation, *line, interrupts);
    if (!status.ok()) PrintError(status);
    if (absl::IsOutOfRange(status) && editor.interactive()) Print("/reset forgets the conversation.\n");
    if (status.ok() && editor.interactive()) PrintFacts(conversation.facts());
    // A script wants to know; a person has seen it.
    if (!status.ok() && !editor.interactive()) exit_code = kExitFailed;
  }
  return exit_code;
}

int AskOnce(std::shared_ptr<grpc::Channel> channel, const ChatOptions& options, const std::string& message,
            int interrupts) {
  Conversation conversation(std::move(channel), options);
  const absl::Status status = AskAndPrint(conversation, message, interrupts);
  if (!status.ok()) return PrintError(status), kExitFailed;
  return conversation.facts().interrupted ? kExitFailed : kExitDone;
}

}  // namespace inferd::daemon
