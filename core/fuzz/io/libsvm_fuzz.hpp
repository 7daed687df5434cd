// Properties that the LIBSVM parser must have for any bytes, and a mutator that searches for bytes
// that break one.
//
// `check` is the target: it aborts with a message if a property fails, and the sanitizers abort on
// undefined behaviour. Properties: the cuts do not show; rows are sorted, distinct, finite and in
// range; reading on from `resume` gives the rest; printing the rows and reading them again gives
// the same rows. `Mutator` makes inputs from a seed: pieces of the grammar and raw bytes, changed,
// cut and spliced. An input that gives a new complaint joins the inputs that are mutated further.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/libsvm_parser.hpp"

namespace fuzz {

using budgetron::CsrRows;
using budgetron::LibsvmOptions;
using budgetron::LibsvmParser;

inline void require(bool holds, const char* what, std::string_view text) {
  if (holds) return;
  std::fprintf(stderr, "libsvm_fuzz: %s, for the bytes\n", what);
  for (const char c : text) std::fprintf(stderr, "\\x%02x", static_cast<unsigned char>(c));
  std::fprintf(stderr, "\n");
  std::abort();
}

template <class Real>
bool same(const CsrRows<Real>& a, const CsrRows<Real>& b) {
  return a.labels == b.labels && a.indptr == b.indptr && a.indices == b.indices &&
         a.values == b.values;
}

template <class Real>
void append(CsrRows<Real>& all, const CsrRows<Real>& more) {
  for (std::size_t i = 0; i < more.labels.size(); ++i) {
    all.labels.push_back(more.labels[i]);
    all.indptr.push_back(all.indptr.back() + more.indptr[i + 1] - more.indptr[i]);
  }
  all.indices.insert(all.indices.end(), more.indices.begin(), more.indices.end());
  all.values.insert(all.values.end(), more.values.begin(), more.values.end());
}

template <class Real>
void check_rows(const CsrRows<Real>& rows, const LibsvmOptions& options, std::string_view text) {
  require(rows.indptr.size() == rows.labels.size() + 1, "indptr and labels disagree", text);
  require(rows.indices.size() == rows.values.size() &&
              rows.indptr.back() == static_cast<std::int64_t>(rows.values.size()),
          "indptr and values disagree", text);
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    require(std::isfinite(rows.labels[i]), "a label is not finite", text);
    for (auto k = static_cast<std::size_t>(rows.indptr[i]);
         k < static_cast<std::size_t>(rows.indptr[i + 1]); ++k) {
      require(std::isfinite(rows.values[k]), "a value is not finite", text);
      require(rows.indices[k] >= 0 && rows.indices[k] < options.max_index,
              "an index is out of range", text);
      const bool first = k == static_cast<std::size_t>(rows.indptr[i]);
      require(first || rows.indices[k] > rows.indices[k - 1], "indices are not sorted", text);
    }
  }
}

template <class Real>
std::string printed(const CsrRows<Real>& rows) {
  std::string text;
  char number[64];
  for (std::size_t i = 0; i < rows.labels.size(); ++i) {
    std::snprintf(number, sizeof number, "%.17g", rows.labels[i]);
    text += number;
    for (auto k = static_cast<std::size_t>(rows.indptr[i]);
         k < static_cast<std::size_t>(rows.indptr[i + 1]); ++k) {
      std::snprintf(number, sizeof number, " %lld:%.17g",
                    static_cast<long long>(rows.indices[k]) + 1,
                    static_cast<double>(rows.values[k]));
      text += number;
    }
    text += '\n';
  }
  return text;
}

// A message without the token and the numbers in it.
inline std::string kind_of(std::string_view what) {
  std::string kind;
  bool inside = false;
  for (const char c : what) {
    if (c == '\'') inside = !inside;
    if (!inside && (c < '0' || c > '9')) kind += c;
  }
  return kind;
}

// The first bytes choose the options and the cuts; the rest is the text. Returns the kind of the
// first complaint.
template <class Real>
std::string check(std::string_view input) {
  if (input.size() < 4) return "";
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(input[i]); };
  LibsvmOptions options;
  options.skip_bad = (byte(0) & 1) != 0;
  options.max_line = (byte(0) & 2) != 0 ? 24 : 1 << 20;
  options.max_index = (byte(0) & 4) != 0 ? 9 : 2147483647;
  const std::size_t step = 1 + byte(1) % 32, max_rows = 1 + byte(2) % 4;
  const std::string_view text = input.substr(4);

  LibsvmParser<Real> whole(options);
  require(whole.feed(text) <= text.size(), "more was used than given", text);
  whole.finish();
  const auto lines = whole.lines();
  const auto expected = whole.take();
  check_rows(expected, options, text);

  LibsvmParser<Real> cut(options);
  CsrRows<Real> rows;
  for (std::size_t at = 0; at < text.size() && !cut.failed();) {
    at += cut.feed(text.substr(at, step), max_rows);
    append(rows, cut.take());
  }
  cut.finish();
  append(rows, cut.take());
  require(same(rows, expected), "cuts show in the rows", text);
  require(cut.n_bad() == whole.n_bad() && cut.max_index() == whole.max_index(), "cuts show", text);
  for (std::size_t i = 0; i < whole.bad().size(); ++i) {
    require(cut.bad()[i].line == whole.bad()[i].line && cut.bad()[i].what == whole.bad()[i].what,
            "cuts show in a message", text);
    require(whole.bad()[i].what.find('\n') == std::string::npos, "a message has lines", text);
  }

  LibsvmParser<Real> head(options);
  head.feed(text, max_rows);
  auto rest_options = options;
  rest_options.line = head.lines();
  rest_options.largest = head.max_index();
  auto joined = head.take();
  if (!head.failed()) {
    LibsvmParser<Real> rest(rest_options);
    rest.feed(text.substr(static_cast<std::size_t>(head.resume())));
    rest.finish();
    append(joined, rest.take());
    require(same(joined, expected), "reading on gives other rows", text);
    require(rest.lines() == lines && rest.max_index() == whole.max_index(),
            "reading on counts otherwise", text);
  }

  LibsvmParser<Real> again;
  again.feed(printed(expected));
  require(!again.failed() && same(again.take(), expected), "printed rows read otherwise", text);
  return whole.bad().empty() ? "" : kind_of(whole.bad().front().what);
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {
    pool_ = {std::string("\x00\x07\x01\x00", 4) + "1 1:0.5 3:-2e1 # note\n-1 2:1\r\n",
             std::string("\x01\x01\x03\x00", 4) + "\xEF\xBB\xBF+1 9:.5 2:1e-7\n\n0\n"};
  }

  std::string next() {
    std::string input = pool_[below(pool_.size())];
    for (std::size_t changes = 1 + below(6); changes > 0; --changes) change(input);
    if (input.size() > 4096) input.resize(4096);
    return input;
  }

  void learn(const std::string& input, const std::string& complaint) {
    if (seen_.insert(complaint).second) pool_.push_back(input);
  }

  std::size_t found() const { return seen_.size(); }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

  void change(std::string& input) {
    static const std::vector<std::string> pieces = {
        "\n",           "\r\n",    " ",           "\t", ":",    "#",    "1 ",   " 2:1",
        " 1:0",         " 0:1",    "-",           "+",  "e",    ".",    "nan",  "inf",
        "1e400",        "1e-400",  "qid:",        ",",  ";",    "0x1p", "\xFF", "\xFE",
        "\xEF\xBB\xBF", " 9999:1", "99999999999", "\r", "1e39", "1e38", "0000", "-0 3:3",
        "7:7 7:7"};
    const std::size_t at = below(input.size() + 1);
    switch (below(6)) {
      case 0:
        input.insert(at, pieces[below(pieces.size())]);
        break;
      case 1:
        input.insert(at, 1, static_cast<char>(below(256)));
        break;
      case 2:
        if (at < input.size()) input[at] = static_cast<char>(below(256));
        break;
      case 3:
        input.erase(at, 1 + below(8));
        break;
      case 4:
        input.insert(below(input.size() + 1), input.substr(at, 1 + below(40)));
        break;
      default: {
        const std::string& other = pool_[below(pool_.size())];
        input = input.substr(0, at) + other.substr(below(other.size() + 1));
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> pool_;
  std::set<std::string> seen_;
};

// Runs one input of the mutator through both parsers.
inline void step(Mutator& mutator) {
  const std::string input = mutator.next();
  mutator.learn(input, check<float>(input) + check<double>(input));
}

}  // namespace fuzz
