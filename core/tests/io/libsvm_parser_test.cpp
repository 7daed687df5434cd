#include "io/libsvm_parser.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/harness.hpp"

using budgetron::CsrRows;
using budgetron::LibsvmOptions;
using budgetron::LibsvmParser;

namespace {

using Labels = std::vector<double>;
using Pointers = std::vector<std::int64_t>;
using Indices = std::vector<std::int32_t>;

template <class Real = double>
LibsvmParser<Real> parsed(std::string_view text, LibsvmOptions options = {}) {
  LibsvmParser<Real> parser(options);
  parser.feed(text);
  parser.finish();
  return parser;
}

// The message for `text` as the second line; the row of the good first line must survive.
template <class Real = double>
std::string complaint(std::string_view text) {
  auto parser = parsed<Real>("1 1:1\n" + std::string(text) + "\n1 1:1\n");
  if (!parser.failed()) return "no complaint";
  CHECK_EQ(parser.rows(), 1u);
  CHECK_EQ(parser.bad().front().line, 2u);
  const auto rows = parser.take();
  CHECK_EQ(rows.indptr.back(), static_cast<std::int64_t>(rows.values.size()));
  CHECK_EQ(rows.indices.size(), rows.values.size());
  return parser.bad().front().what;
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

}  // namespace

TEST(libsvm_reads_rows) {
  auto parser = parsed(
      "\xEF\xBB\xBF+1 1:0.5 3:-2e1 # note\r\n\n# only a comment\n \t\n-1\t10:1\t\n0\n2.5 7:.5");
  CHECK(!parser.failed());
  CHECK_EQ(parser.lines(), 7u);
  CHECK_EQ(parser.max_index(), 10);
  const auto rows = parser.take();
  CHECK(rows.labels == Labels{1, -1, 0, 2.5});
  CHECK(rows.indptr == Pointers{0, 2, 3, 3, 4});
  CHECK(rows.indices == Indices{0, 2, 9, 6});
  CHECK(rows.values == std::vector<double>{0.5, -20, 1, 0.5});
  CHECK_EQ(parser.rows(), 0u);
  CHECK(parser.take().indptr == Pointers{0});
}

TEST(libsvm_last_line_needs_finish) {
  LibsvmParser<float> parser;
  CHECK_EQ(parser.feed("1 1:1\n-1 2:1"), 12u);
  CHECK_EQ(parser.rows(), 1u);
  parser.finish();
  CHECK_EQ(parser.rows(), 2u);
  parser.finish();
  CHECK_EQ(parser.rows(), 2u);
}

TEST(libsvm_sorts) {
  const auto rows = parsed("1 5:5 2:2 9:9 1:1\n").take();
  CHECK(rows.indices == Indices{0, 1, 4, 8});
  CHECK(rows.values == std::vector<double>{1, 2, 5, 9});
}

TEST(libsvm_numbers_are_correctly_rounded) {
  const auto f64 =
      parsed("1 1:0.1 2:3.141592653589793 3:12345678901 4:1e-320 5:-0.30000000000000004\n").take();
  CHECK(f64.values ==
        std::vector<double>{0.1, 3.141592653589793, 12345678901.0, 1e-320, -0.30000000000000004});
  const auto f32 = parsed<float>("1 1:0.1 2:16777217 3:9999999 4:1e-50 5:-1e-60\n").take();
  CHECK(f32.values == std::vector<float>{0.1F, 16777216.F, 9999999.F, 0.F, 0.F});
  CHECK(parsed("1 1:1e-400 2:0.000001e-330\n").take().values == std::vector<double>{0, 0});
  CHECK(parsed("1e-400 1:1\n").take().labels == Labels{0});
}

TEST(libsvm_bad_lines) {
  CHECK_EQ(complaint("abc 1:1"), "label 'abc' is not a number");
  CHECK_EQ(complaint("1,2,3"),
           "label '1,2,3' is not a number (a line is: label index:value index:value ...)");
  CHECK_EQ(complaint("1x 1:1"), "label '1x' is not a number");
  CHECK_EQ(complaint("+-1 1:1"), "label '+-1' is not a number");
  CHECK_EQ(complaint("nan 1:1"), "label 'nan' is not finite");
  CHECK_EQ(complaint("1e400 1:1"), "label '1e400' is out of range");
  CHECK_EQ(complaint("1 5"), "'5' is not index:value");
  CHECK_EQ(complaint("1 :5"), "':5' is not index:value");
  CHECK_EQ(complaint("1 a:5"), "'a:5' is not index:value");
  CHECK_EQ(complaint("1 1:1 qid:3 2:1"), "qid is not supported");
  CHECK_EQ(complaint("1 0:1"), "feature index 0: indices start at 1");
  CHECK_EQ(complaint("1 -3:1"), "feature index '-3' is negative: indices start at 1");
  CHECK_EQ(complaint("1 2147483648:1"), "feature index '2147483648' is above 2147483647");
  CHECK_EQ(complaint("1 99999999999999999999999:1"),
           "feature index '99999999999999999999999' is above 2147483647");
  CHECK_EQ(complaint("1 5:1 3:1 5:2"), "feature 5 stands twice");
  CHECK_EQ(complaint("1 5:1 5:1"), "feature 5 stands twice");
  CHECK_EQ(complaint("1 5:"), "feature 5 has no value");
  CHECK_EQ(complaint("1 5: 3"), "feature 5 has no value");
  CHECK_EQ(complaint("1 5:x"), "value 'x' of feature 5 is not a number");
  CHECK_EQ(complaint("1 5:1:2"), "value '1:2' of feature 5 is not a number");
  CHECK_EQ(complaint("1 5:0x10"), "value '0x10' of feature 5 is not a number");
  CHECK_EQ(complaint("1 5:1,5"), "value '1,5' of feature 5 is not a number");
  CHECK_EQ(complaint("1 5:nan"),
           "value 'nan' of feature 5 is not finite; scale=\"auto\" treats it as a missing value");
  CHECK_EQ(complaint("1 5:-inf"), "value '-inf' of feature 5 is not finite");
  CHECK_EQ(complaint("1 5:+infinity"), "value '+infinity' of feature 5 is not finite");
  CHECK_EQ(complaint("1 5:1e400"), "value '1e400' of feature 5 is out of range");
  CHECK_EQ(complaint<float>("1 5:-1e39"), "value '-1e39' of feature 5 is out of range");
  CHECK_EQ(complaint("1 5:1e39"), "no complaint");
  CHECK_EQ(complaint("1 1:1\r2:2"), "byte 0x0d has no place in LIBSVM text");
  CHECK_EQ(complaint(std::string_view("1 1:1\0", 6)), "byte 0x00 has no place in LIBSVM text");
  CHECK_EQ(complaint("\xFF\x01"), "byte 0xff has no place in LIBSVM text");
  CHECK_EQ(complaint("1 5:" + std::string(100, 'x')),
           "value '" + std::string(40, 'x') + "...' of feature 5 is not a number");
  const auto wide = parsed(std::string_view("\xFF\xFE\x31\0\n\0", 6));
  CHECK_EQ(wide.bad().front().what, "the text is UTF-16, not UTF-8");
}

TEST(libsvm_largest_index) {
  auto parser = parsed("1 2147483647:1\n");
  CHECK_EQ(parser.max_index(), 2147483647);
  CHECK(parser.take().indices == Indices{2147483646});
  LibsvmOptions options;
  options.max_index = 3;
  CHECK(!parsed("1 3:1\n", options).failed());
  CHECK_EQ(parsed("1 4:1\n", options).bad().front().what, "feature index '4' is above 3");
  CHECK_EQ(parsed("1 4:1\n", options).max_index(), 0);
}

TEST(libsvm_stops_at_the_first_bad_line) {
  LibsvmParser<double> parser;
  const std::string text = "1 1:1\nbad\n1 1:1\n";
  CHECK_EQ(parser.feed(text), 10u);
  CHECK(parser.failed());
  CHECK_EQ(parser.feed("1 1:1\n"), 0u);
  parser.finish();
  CHECK_EQ(parser.rows(), 1u);
  CHECK_EQ(parser.n_bad(), 1u);
}

TEST(libsvm_skips_and_counts) {
  LibsvmOptions options;
  options.skip_bad = true;
  options.keep = 2;
  auto parser = parsed("1 1:1\nx\n1 2:1 2:2\n-1 3:1\ny\n", options);
  CHECK(!parser.failed());
  CHECK_EQ(parser.n_bad(), 3u);
  CHECK_EQ(parser.bad().size(), 2u);
  CHECK_EQ(parser.bad()[1].line, 3u);
  const auto rows = parser.take();
  CHECK(rows.labels == Labels{1, -1});
  CHECK(rows.indices == Indices{0, 2});
}

TEST(libsvm_max_rows) {
  LibsvmParser<double> parser;
  const std::string_view text = "1 1:1\n2 1:1\n3 1:1\n";
  const auto used = parser.feed(text, 2);
  CHECK_EQ(used, 12u);
  CHECK_EQ(parser.feed(text, 2), 0u);
  CHECK(parser.take().labels == Labels{1, 2});
  CHECK_EQ(parser.feed(text.substr(used), 2), 6u);
  CHECK_EQ(parser.bytes(), 18u);
  parser.discard();
  CHECK_EQ(parser.rows(), 0u);
  parser.feed("4 1:1\n");
  CHECK(parser.take().labels == Labels{4});
}

TEST(libsvm_line_too_long) {
  LibsvmOptions options;
  options.max_line = 10;
  const std::string text = "1 1:1 2:12\n2 1:1 2:1 3:1 4:1\n3 1:1\n";
  for (const std::size_t step : {1u, 4u, 100u}) {
    for (const bool skip : {false, true}) {
      options.skip_bad = skip;
      LibsvmParser<double> parser(options);
      for (std::size_t i = 0; i < text.size(); i += step) {
        parser.feed(std::string_view(text).substr(i, step));
      }
      parser.finish();
      CHECK_EQ(parser.failed(), !skip);
      CHECK_EQ(parser.n_bad(), 1u);
      CHECK_EQ(parser.bad().front().line, 2u);
      CHECK_EQ(parser.bad().front().what, "the line is longer than 10 bytes");
      CHECK(parser.take().labels == (skip ? Labels{1, 3} : Labels{1}));
    }
  }
}

// Random text of meaningful bytes, cut at random: no crash (run it under sanitizers), invariants
// hold, and the cuts do not show.
TEST(libsvm_cuts_do_not_show) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const std::vector<std::string> pieces = {"\n1 2:1 5:0.25\n",
                                           "\n-1 4:1 3:2\r\n",
                                           "1",
                                           "-1",
                                           " ",
                                           " ",
                                           " 3:1",
                                           " 2:0.5",
                                           " 7:1e400",
                                           ":",
                                           "\n",
                                           "\n",
                                           "\r\n",
                                           "#",
                                           "\t",
                                           "e5",
                                           ".",
                                           "nan",
                                           "\xEF\xBB\xBF",
                                           std::string(1, '\0'),
                                           "\xFF",
                                           " 99999999999:1",
                                           "+",
                                           "qid:1"};
  int rows_seen = 0, bad_seen = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text;
    for (std::size_t i = below(40); i > 0; --i) text += pieces[below(pieces.size())];
    LibsvmOptions options;
    options.skip_bad = below(4) != 0;
    options.max_line = below(2) == 0 ? 12 : 1000;
    auto whole = parsed<float>(text, options);
    LibsvmParser<float> cut(options);
    CsrRows<float> rows;
    for (std::size_t at = 0; at < text.size() && !cut.failed();) {
      at += cut.feed(std::string_view(text).substr(at, 1 + below(9)), 1 + below(3));
      if (below(2) == 0 || cut.rows() > 0) append(rows, cut.take());
    }
    cut.finish();
    append(rows, cut.take());
    const auto expected = whole.take();
    CHECK(same(rows, expected));
    CHECK_EQ(cut.n_bad(), whole.n_bad());
    CHECK_EQ(cut.max_index(), whole.max_index());
    CHECK_EQ(cut.bad().size(), whole.bad().size());
    for (std::size_t i = 0; i < std::min(cut.bad().size(), whole.bad().size()); ++i) {
      CHECK_EQ(cut.bad()[i].line, whole.bad()[i].line);
      CHECK_EQ(cut.bad()[i].what, whole.bad()[i].what);
    }
    if (!cut.failed()) CHECK_EQ(cut.lines(), whole.lines());
    CHECK_EQ(expected.indptr.size(), expected.labels.size() + 1);
    CHECK_EQ(expected.indptr.back(), static_cast<std::int64_t>(expected.indices.size()));
    rows_seen += static_cast<int>(expected.labels.size());
    bad_seen += static_cast<int>(whole.n_bad());
  }
  CHECK(rows_seen > 1000);
  CHECK(bad_seen > 1000);
}
