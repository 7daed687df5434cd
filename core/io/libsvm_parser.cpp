#include "io/libsvm_parser.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <system_error>

namespace budgetron {
namespace {

// The text of a line ends before a byte that may be read: its newline, a carriage return, or the 0
// behind a string. That byte is not part of a token, so loops over tokens need not test for the
// end.
bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
bool is_blank(char c) { return c == ' ' || c == '\t'; }
bool ends_token(const char* p, const char* end) { return is_blank(*p) || p == end || *p == '#'; }

enum class Number { ok, malformed, too_large, not_finite, missing };

// Whether a decimal number [p, end) that from_chars found out of Real's range is too large (not too
// small): decided by the exponent of its first nonzero digit.
bool is_huge(const char* p, const char* end) {
  if (p != end && *p == '-') ++p;
  std::int64_t exponent = -1;  // of the last digit read
  bool point = false, found = false;
  for (; p != end && (is_digit(*p) || *p == '.'); ++p) {
    if (*p == '.') {
      point = true;
      continue;
    }
    if (found && point) continue;
    found = found || *p != '0';
    if (!point && found) ++exponent;
    if (point && !found) --exponent;
  }
  if (p != end && (*p == 'e' || *p == 'E')) {
    ++p;
    const bool negative = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) ++p;
    std::int64_t written = 0;
    for (; p != end && is_digit(*p); ++p) {
      if (written < (std::int64_t{1} << 48)) written = 10 * written + (*p - '0');
    }
    exponent += negative ? -written : written;
  }
  return exponent > 0;
}

// Reads the number that fills the whole token at p; if it is one, p moves behind it.
template <class T>
Number read_number(const char*& p, const char* end, T& out) {
  // Most values are short integers: up to 7 digits are exact even in float32.
  const char* q = p;
  std::int32_t whole = 0;
  while (is_digit(*q) && q - p < 7) whole = 10 * whole + (*q++ - '0');
  if (q != p && ends_token(q, end)) {
    out = static_cast<T>(whole);
    p = q;
    return Number::ok;
  }
  q = p;
  if (q != end && *q == '+') {  // from_chars accepts no plus sign
    ++q;
    if (q != end && *q == '-') return Number::malformed;
  }
  const auto [last, error] = std::from_chars(q, end, out);
  if (error == std::errc::invalid_argument || !ends_token(last, end)) return Number::malformed;
  if (error == std::errc::result_out_of_range) {
    if (is_huge(q, last)) return Number::too_large;
    out = T{0};
  } else if (std::isnan(out)) {
    p = last;
    return Number::missing;
  } else if (!std::isfinite(out)) {
    return is_digit(last[-1]) || last[-1] == '.' ? Number::too_large : Number::not_finite;
  }
  p = last;
  return Number::ok;
}

// What a double loses of an integer: two labels must not become one class.
enum class Lost { nothing, zeros, digits };

Lost lost_of(const char* p, const char* end, double number) {
  if (*p == '+' || *p == '-') ++p;
  const bool zeros = *p == '0' && end - p > 1;
  const double size = std::fabs(number);
  if (!zeros && size < 0x1p53) return Lost::nothing;
  if (!std::all_of(p, end, is_digit)) return Lost::nothing;
  if (zeros) return Lost::zeros;
  std::uint64_t whole = 0;
  const bool fits = std::from_chars(p, end, whole).ec == std::errc{} && size < 0x1p64;
  return fits && static_cast<std::uint64_t>(size) == whole ? Lost::nothing : Lost::digits;
}

// ---- messages: off the fast path ---------------------------------------------------------------

constexpr std::size_t kShown = 40;  // bytes of a token that a message shows

std::string_view token_at(const char* p, const char* end) {
  const char* last = p;
  while (!ends_token(last, end)) ++last;
  return {p, static_cast<std::size_t>(last - p)};
}

std::string quoted(std::string_view token) {
  std::string out = "'";
  out += token.substr(0, kShown);
  if (token.size() > kShown) out += "...";
  return out + "'";
}

// Finds a byte that no LIBSVM line has: then it does not matter what the token should be.
bool strange_byte(std::string_view token, std::string& what) {
  for (const char c : token) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > 0x20 && byte < 0x7f) continue;
    constexpr char hex[] = "0123456789abcdef";
    what =
        std::string("byte 0x") + hex[byte >> 4] + hex[byte & 15] + " has no place in LIBSVM text";
    return true;
  }
  return false;
}

const char* complaint(Number number) {
  switch (number) {
    case Number::too_large:
      return " is out of range";
    case Number::not_finite:
    case Number::missing:
      return " is not finite";
    default:
      return " is not a number";
  }
}

std::string bad_label(const char* p, const char* end, Number number) {
  std::string what;
  const auto token = token_at(p, end);
  if (strange_byte(token, what)) return what;
  what = "label " + quoted(token) + complaint(number);
  if (number == Number::malformed && token.find_first_of(",;:") != token.npos) {
    what += " (a line is: label index:value index:value ...)";
  }
  return what;
}

std::string lossy_label(std::string_view token, Lost lost) {
  return "label " + quoted(token) +
         (lost == Lost::zeros ? " has leading zeros, which a number does not keep"
                              : " has more digits than a number keeps") +
         ": renumber the classes, or use CSV, where labels may be words";
}

std::string bad_value(const char* p, const char* end, std::int64_t index, Number number) {
  std::string what;
  const auto token = token_at(p, end);
  if (strange_byte(token, what)) return what;
  if (token.empty()) return "feature " + std::to_string(index) + " has no value";
  return "value " + quoted(token) + " of feature " + std::to_string(index) + complaint(number);
}

std::string bad_pair(const char* p, const char* end) {
  std::string what;
  const auto token = token_at(p, end);
  if (strange_byte(token, what)) return what;
  if (token.substr(0, 4) == "qid:") return "qid is not supported";
  const auto index = token.substr(0, token.find(':'));
  if (index.size() < token.size() && index.size() > 1 && index[0] == '-' &&
      std::all_of(index.begin() + 1, index.end(), is_digit)) {
    return "feature index " + quoted(index) + " is negative: indices start at 1";
  }
  return quoted(token) + " is not index:value";
}

std::string bad_index(const char* p, const char* end, std::int64_t index, std::int64_t largest) {
  if (index == 0) return "feature index 0: indices start at 1";
  const auto token = token_at(p, end);
  return "feature index " + quoted(token.substr(0, token.find(':'))) + " is above " +
         std::to_string(largest);
}

}  // namespace

// ---- lines -------------------------------------------------------------------------------------

template <class Real>
std::size_t LibsvmParser<Real>::feed(std::string_view bytes, std::size_t max_rows) {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  while (p != end && rows() < max_rows && !failed()) {
    const auto left = static_cast<std::size_t>(end - p);
    const auto* newline = static_cast<const char*>(std::memchr(p, '\n', left));
    if (newline == nullptr) {
      hold(p, end);
      p = end;
    } else {
      if (held_.empty() && !overlong_) {
        line(p, newline);
      } else {
        hold(p, newline);
        if (!failed()) finish();
      }
      p = newline + 1;
      resume_ = bytes_ + static_cast<std::uint64_t>(p - bytes.data());
    }
  }
  const auto used = bytes.size() - static_cast<std::size_t>(end - p);
  bytes_ += used;
  return used;
}

template <class Real>
void LibsvmParser<Real>::finish() {
  if (failed()) return;
  if (overlong_) {
    overlong_ = false;
    ++lines_;
  } else if (!held_.empty()) {
    line(held_.data(), held_.data() + held_.size());
    held_.clear();
  }
  resume_ = bytes_;
}

template <class Real>
void LibsvmParser<Real>::hold(const char* begin, const char* end) {
  if (overlong_) return;
  const auto length = static_cast<std::size_t>(end - begin);
  if (length <= options_.max_line - held_.size()) {
    held_.append(begin, end);
    return;
  }
  held_ = std::string();
  overlong_ = true;
  reject(lines_ + 1, line_too_long());
}

template <class Real>
void LibsvmParser<Real>::line(const char* begin, const char* end) {
  ++lines_;
  std::string what;
  const std::size_t first = rows_.indices.size();
  if (static_cast<std::size_t>(end - begin) > options_.max_line) {
    what = line_too_long();
  } else {
    while (end != begin && end[-1] == '\r') --end;
    if (lines_ == 1 && std::string_view(begin, end).starts_with("\xEF\xBB\xBF")) begin += 3;
    if (row(begin, end, what)) return;
    if (lines_ == 1 && end - begin >= 2) {
      const std::string_view mark(begin, 2);
      if (mark == "\xFF\xFE" || mark == "\xFE\xFF") what = "the text is UTF-16, not UTF-8";
    }
  }
  rows_.indices.resize(first);
  rows_.values.resize(first);
  reject(lines_, std::move(what));
}

template <class Real>
bool LibsvmParser<Real>::row(const char* p, const char* end, std::string& what) {
  while (p != end && is_blank(*p)) ++p;
  if (p == end || *p == '#') return true;

  double label = 0;
  const char* token = p;
  if (const Number number = read_number(p, end, label); number != Number::ok) {
    what = bad_label(token, end, number);
    return false;
  }
  if (const Lost lost = lost_of(token, p, label); lost != Lost::nothing) {
    what = lossy_label({token, static_cast<std::size_t>(p - token)}, lost);
    return false;
  }
  std::int64_t previous = 0;
  bool sorted = true;
  for (;;) {
    while (is_blank(*p)) ++p;
    if (p == end || *p == '#') break;
    token = p;
    std::int64_t index = 0;
    constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
    for (; is_digit(*p); ++p) {
      if (index <= kLargest) index = 10 * index + (*p - '0');  // otherwise it is too large already
    }
    if (p == token || *p != ':') {
      what = bad_pair(token, end);
      return false;
    }
    if (index < 1 || index > options_.max_index) {
      what = bad_index(token, end, index, options_.max_index);
      return false;
    }
    token = ++p;
    Real value{};
    if (const Number number = read_number(p, end, value);
        number != Number::ok && !(number == Number::missing && options_.gaps)) {
      what = bad_value(token, end, index, number);
      if (number == Number::missing) what += "; scale=\"auto\" treats it as a missing value";
      return false;
    }
    sorted = sorted && index > previous;
    previous = index;
    rows_.indices.push_back(static_cast<std::int32_t>(index - 1));
    rows_.values.push_back(value);
  }
  if (!sorted && !sort_row(what)) return false;
  const auto stop = static_cast<std::int64_t>(rows_.indices.size());
  if (stop > rows_.indptr.back()) {
    largest_ = std::max(largest_, std::int64_t{rows_.indices.back()} + 1);
  }
  rows_.labels.push_back(label);
  rows_.indptr.push_back(stop);
  return true;
}

template <class Real>
bool LibsvmParser<Real>::sort_row(std::string& what) {
  const auto first = static_cast<std::size_t>(rows_.indptr.back());
  order_.clear();
  for (std::size_t i = first; i < rows_.indices.size(); ++i) {
    order_.emplace_back(rows_.indices[i], rows_.values[i]);
  }
  std::sort(order_.begin(), order_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (i > 0 && order_[i].first == order_[i - 1].first) {
      what = "feature " + std::to_string(std::int64_t{order_[i].first} + 1) + " stands twice";
      return false;
    }
    rows_.indices[first + i] = order_[i].first;
    rows_.values[first + i] = order_[i].second;
  }
  return true;
}

template <class Real>
void LibsvmParser<Real>::reject(std::uint64_t line, std::string what) {
  const auto before = static_cast<std::int64_t>(rows());
  std::vector<std::int64_t>& passed = rows_.passed;
  if (passed.empty() || passed.end()[-2] != before) passed.insert(passed.end(), {before, 0});
  ++passed.back();
  if (n_bad_++ < std::max(options_.keep, std::size_t{1})) bad_.push_back({line, std::move(what)});
}

template <class Real>
std::string LibsvmParser<Real>::line_too_long() const {
  return "the line is longer than " + std::to_string(options_.max_line) + " bytes";
}

// ---- rows --------------------------------------------------------------------------------------

template <class Real>
CsrRows<Real> LibsvmParser<Real>::take() {
  CsrRows<Real> next;
  next.labels.reserve(rows_.labels.size());
  next.indptr.reserve(rows_.indptr.size());
  next.indices.reserve(rows_.indices.size());
  next.values.reserve(rows_.values.size());
  return std::exchange(rows_, std::move(next));
}

template <class Real>
void LibsvmParser<Real>::discard() {
  rows_.labels.clear();
  rows_.indptr.resize(1);
  rows_.indices.clear();
  rows_.values.clear();
  rows_.passed.clear();
}

template class LibsvmParser<float>;
template class LibsvmParser<double>;

}  // namespace budgetron
