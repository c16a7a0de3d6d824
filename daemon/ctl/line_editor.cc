// libedit does the editing; its reader of characters is ours, so that an interrupt arrives as an event in between.
#include "daemon/ctl/line_editor.h"

#include <histedit.h>
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cwchar>
#include <iostream>
#include <iterator>
#include <optional>
#include <utility>

#include "config/base/signals.h"

namespace inferd::daemon {
namespace {

constexpr int kHistoryLines = 1000;
constexpr char kControlD = '\x04';

}  // namespace

struct LineEditor::Impl {
  std::string prompt;
  std::string history_file;
  int interrupts = -1;
  EditLine* editor = nullptr;  // null where input is no terminal
  History* past = nullptr;
  bool interrupted = false;
  std::optional<char> unread;  // ended a character that was incomplete, and is not part of it

  static Impl* From(EditLine* editor) {
    void* self = nullptr;
    el_get(editor, EL_CLIENTDATA, &self);
    return static_cast<Impl*>(self);
  }
  static char* Prompt(EditLine* editor) { return From(editor)->prompt.data(); }
  static int ReadCharacter(EditLine* editor, wchar_t* character) { return From(editor)->NextCharacter(character); }

  bool WaitForInput();
  std::optional<char> NextByte();
  int NextCharacter(wchar_t* character);
  void Open();
};

// False at an interrupt.
bool LineEditor::Impl::WaitForInput() {
  for (;;) {
    pollfd entries[] = {{STDIN_FILENO, POLLIN, 0}, {interrupts, POLLIN, 0}};
    if (poll(entries, std::size(entries), -1) < 0) continue;
    if (entries[1].revents != 0 && ReadSignal(interrupts)) return false;
    if (entries[0].revents != 0) return true;
  }
}

// nullopt at the end of input or an interrupt.
std::optional<char> LineEditor::Impl::NextByte() {
  if (unread) return std::exchange(unread, std::nullopt);
  interrupted = !WaitForInput();
  char byte = 0;
  if (interrupted || read(STDIN_FILENO, &byte, 1) != 1) return std::nullopt;
  // Typed before the prompt: the terminal, still in line mode, keeps it as NUL.
  return byte == '\0' ? kControlD : byte;
}

// 1 with a character; 0 at the end of input or an interrupt, where el_gets gives no line. Bytes that are no character
// show as one: -1 would end the input.
int LineEditor::Impl::NextCharacter(wchar_t* character) {
  std::mbstate_t state{};
  for (bool first = true;; first = false) {
    const std::optional<char> byte = NextByte();
    if (!byte) return 0;
    const size_t length = std::mbrtowc(character, &*byte, 1, &state);
    if (length == static_cast<size_t>(-1)) {
      *character = L'\uFFFD';
      if (!first) unread = byte;
      return 1;
    }
    if (length != static_cast<size_t>(-2)) return 1;
  }
}

void LineEditor::Impl::Open() {
  std::setlocale(LC_CTYPE, "C.UTF-8");
  editor = el_init("inferctl", stdin, stdout, stderr);
  past = history_init();
  HistEvent event;
  history(past, &event, H_SETSIZE, kHistoryLines);
  history(past, &event, H_SETUNIQUE, 1);
  if (!history_file.empty()) history(past, &event, H_LOAD, history_file.c_str());
  el_set(editor, EL_CLIENTDATA, this);
  el_set(editor, EL_PROMPT, &Impl::Prompt);
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_HIST, history, past);
  el_set(editor, EL_GETCFN, &Impl::ReadCharacter);
  el_source(editor, nullptr);  // the user's ~/.editrc
}

LineEditor::LineEditor(std::string prompt, std::string history_file, int interrupts) : impl_(std::make_unique<Impl>()) {
  impl_->prompt = std::move(prompt);
  impl_->history_file = std::move(history_file);
  impl_->interrupts = interrupts;
  if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) impl_->Open();
}

LineEditor::~LineEditor() {
  if (!interactive()) return;
  HistEvent event;
  if (!impl_->history_file.empty()) history(impl_->past, &event, H_SAVE, impl_->history_file.c_str());
  history_end(impl_->past);
  el_end(impl_->editor);
}

bool LineEditor::interactive() const { return impl_->editor != nullptr; }

std::optional<std::string> LineEditor::Read() {
  if (!interactive()) {
    std::string line;
    if (!std::getline(std::cin, line)) return std::nullopt;
    return line;
  }
  for (;;) {
    int length = 0;
    impl_->interrupted = false;
    const char* const text = el_gets(impl_->editor, &length);
    if (text == nullptr || length <= 0) {
      std::fputs("\n", stdout);
      if (!impl_->interrupted) return std::nullopt;
      el_reset(impl_->editor);
      continue;
    }
    std::string line(text, static_cast<size_t>(length));
    while (line.ends_with('\n')) line.pop_back();
    HistEvent event;
    if (!line.empty()) history(impl_->past, &event, H_ENTER, line.c_str());
    return line;
  }
}

}  // namespace inferd::daemon
