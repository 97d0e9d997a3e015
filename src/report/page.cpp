#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "base/clock.h"
#include "base/environment.h"
#include "report/columns.h"
#include "report/html.h"
#include "report/page_parts.h"
#include "report/palette.h"
#include "report/svg_chart.h"

namespace saddle::report {
namespace {

constexpr int kDigits = 6;  // of values in the page

// The colours and dashes of the runs, and the rules by which a checkbox hides a run's curves.
std::string run_style(size_t runs) {
  std::string light, dark;
  for (size_t i = 0; i < kColors.size(); ++i) {
    light += fmt::format(".c{} {{ --run: {}; }}\n", i, kColors[i].on_light);
    dark += fmt::format(".c{} {{ --run: {}; }}\n", i, kColors[i].on_dark);
  }
  std::string style = light;
  style += "@media screen and (prefers-color-scheme: dark) {\n" + dark + "}\n";
  for (size_t i = 0; i < kDashes.size(); ++i) {
    if (*kDashes[i] == '\0') continue;
    style += fmt::format(".d{} path {{ stroke-dasharray: {}; }}\n", i, kDashes[i]);
  }
  style += ".ring path { stroke-dasharray: none; }\n";
  for (size_t i = 0; i < runs; ++i) {
    style += fmt::format(
        "body:has(#show-{0}:not(:checked)) .run-{0} {{ display: none; }}\n"
        "body:has(#show-{0}:not(:checked)) .for-{0} {{ opacity: 0.5; text-decoration: "
        "line-through; }}\n",
        i);
  }
  return style;
}

// 2026-01-31 12:00 UTC
std::string readable_time() {
  const std::string time = utc_timestamp();
  return fmt::format("{} {} UTC", time.substr(0, 10), time.substr(11, 5));
}

std::string counts_text(const std::vector<Run>& runs) {
  std::map<Status, int> counts;
  for (const Run& run : runs) ++counts[run.status];
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [status, count] : counts)
    parts.push_back(fmt::format("{} {}", count, name(status)));
  return fmt::format("{} {}: {}", runs.size(), runs.size() == 1 ? "run" : "runs",
                     fmt::join(parts, ", "));
}

// The smallest finite value, if several runs have one and they are not all the same.
Number best_value(const Column& column, const std::vector<Run>& runs) {
  Number least, most;
  for (const Run& run : runs) {
    const Number value = column.value(run);
    if (!value || !std::isfinite(*value)) continue;
    if (!least || *value < *least) least = value;
    if (!most || *value > *most) most = value;
  }
  return least == most ? std::nullopt : least;
}

std::string results_table(const std::vector<Run>& runs, const Path& directory) {
  const std::vector<Column> shown = columns(runs);
  std::string head =
      "<th scope=\"col\">run</th><th scope=\"col\">state</th><th scope=\"col\">step</th>";
  std::vector<Number> best;
  for (const Column& column : shown) {
    head += fmt::format("<th scope=\"col\" title=\"{}\">{}</th>", html(column.meaning),
                        html(column.title));
    best.push_back(column.lower_is_better ? best_value(column, runs) : Number());
  }
  std::string body;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Run& run = runs[i];
    body += fmt::format(
        "<tr><th scope=\"row\">{}<a href=\"{}/\">{}</a></th><td><span class=\"state {}\">{}</span>"
        "</td><td>{}</td>",
        line_sample(i), relative_url(run.directory, directory), html(run.name), name(run.status),
        name(run.status), step_text(run));
    for (size_t k = 0; k < shown.size(); ++k) {
      const std::string text = cell_text(shown[k], run);
      const bool is_best = best[k] && shown[k].value(run) == best[k];
      const char* kind = is_best ? " class=\"best\"" : text == "-" ? " class=\"none\"" : "";
      body += fmt::format("<td{}>{}{}</td>", kind, text == "-" ? "\u2013" : html(text),
                          is_best ? "<span class=\"hide\"> (lowest)</span>" : "");
    }
    body += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results, a table that "
      "scrolls\">\n<table class=\"results\">\n<caption class=\"hide\">The state and results of "
      "each "
      "run</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n",
      head, body);
}

std::string notes(const std::vector<Run>& runs) {
  std::string items;
  for (const Run& run : runs) {
    if (run.notes.empty()) continue;
    items += fmt::format("<li><b>{}</b>: {}</li>\n", html(run.name),
                         html(fmt::format("{}", fmt::join(run.notes, "; "))));
  }
  return items.empty() ? "" : "<ul class=\"notes\">\n" + items + "</ul>\n";
}

std::string boxes(const std::vector<Run>& runs) {
  std::string text = "<fieldset class=\"shown\"><legend>Runs shown</legend>\n";
  for (size_t i = 0; i < runs.size(); ++i) {
    text += fmt::format(
        "<span class=\"for-{0}\"><input type=\"checkbox\" id=\"show-{0}\" checked><label "
        "for=\"show-{0}\">{1} {2}</label></span>\n",
        i, line_sample(i), html(runs[i].name));
  }
  return text + "</fieldset>\n";
}

std::string link(const Path& target, const Path& directory, const std::string& text) {
  return fmt::format("<a href=\"{}\">{}</a>", relative_url(target, directory), html(text));
}

std::string figures(const PageContent& content) {
  std::string text = "<div class=\"charts\">\n";
  for (const Chart& chart : content.charts) {
    text += svg_figure(chart, content.runs);
    std::vector<std::string> links;
    for (const Path& file : content.figures) {
      if (file.stem() != chart.name) continue;
      links.push_back(link(file, content.directory, file.filename().string()));
    }
    if (!links.empty()) {
      text += fmt::format("<p class=\"files\">{}</p>\n", fmt::join(links, " · "));
    }
    text += "</figure>\n";
  }
  return text + "</div>\n";
}

constexpr const char* kDecides = "decide the numbers of a run";
constexpr const char* kDoesNot = "directories, speed and records";

// A key may be broken after its dots and underscores.
std::string key_html(const std::string& key) {
  std::string text;
  for (const char c : html(key)) {
    text += c;
    if (c == '.' || c == '_') text += "<wbr>";
  }
  return text;
}

std::string value_cell(const std::string& value) {
  if (value.empty()) return "<td class=\"none\">–</td>";
  return fmt::format("<td><code>{}</code></td>", html(value));
}

std::string run_heading(const char* scope, size_t run, const std::vector<Run>& runs) {
  return fmt::format("<th scope=\"{}\">{}{}</th>", scope, line_sample(run), html(runs[run].name));
}

// One row per setting, one column per run.
std::string settings_by_run(const PageContent& content) {
  std::string text = "<thead><tr><th scope=\"col\">setting</th>";
  for (size_t i = 0; i < content.runs.size(); ++i) text += run_heading("col", i, content.runs);
  text += "</tr></thead>\n<tbody>\n";
  const DifferingSetting* before = nullptr;
  for (const DifferingSetting& setting : content.settings.differing) {
    if (before == nullptr || before->decides_numbers != setting.decides_numbers) {
      text +=
          fmt::format("<tr class=\"group\"><th colspan=\"{}\" scope=\"colgroup\">{}</th></tr>\n",
                      content.runs.size() + 1, setting.decides_numbers ? kDecides : kDoesNot);
    }
    text += fmt::format("<tr><th scope=\"row\">{}</th>", key_html(setting.key));
    for (const std::string& value : setting.values) text += value_cell(value);
    text += "</tr>\n";
    before = &setting;
  }
  return text + "</tbody>\n";
}

// One row per run, one column per setting.
std::string runs_by_setting(const PageContent& content) {
  const auto& differing = content.settings.differing;
  std::string groups = "<tr><td></td>", keys = "<tr><th scope=\"col\">run</th>";
  for (const bool decides : {true, false}) {
    const auto count = std::ranges::count(differing, decides, &DifferingSetting::decides_numbers);
    if (count == 0) continue;
    groups += fmt::format("<th colspan=\"{}\" scope=\"colgroup\">{}</th>", count,
                          decides ? kDecides : kDoesNot);
  }
  for (const DifferingSetting& setting : differing) {
    keys += fmt::format("<th scope=\"col\">{}</th>", key_html(setting.key));
  }
  std::string text = fmt::format("<thead>{}</tr>\n{}</tr></thead>\n<tbody>\n", groups, keys);
  for (size_t i = 0; i < content.runs.size(); ++i) {
    text += "<tr>" + run_heading("row", i, content.runs);
    for (const DifferingSetting& setting : differing) text += value_cell(setting.values[i]);
    text += "</tr>\n";
  }
  return text + "</tbody>\n";
}

std::string settings(const PageContent& content) {
  std::string text = "<h2>Settings that differ</h2>\n";
  const auto& differing = content.settings.differing;
  if (differing.empty()) {
    text += "<p>None.</p>\n";
  } else {
    text +=
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Settings that differ, a "
        "table that scrolls\">\n<table class=\"settings\">\n<caption class=\"hide\">Settings that "
        "differ between the runs</caption>\n";
    // The longer side goes down the page.
    text += content.runs.size() > differing.size() ? runs_by_setting(content)
                                                   : settings_by_run(content);
    text += "</table>\n</div>\n";
  }
  if (content.settings.common.empty()) return text;
  text += fmt::format(
      "<details><summary>{} settings and records that all runs have in common</summary>\n<dl>\n",
      content.settings.common.size());
  for (const auto& [key, value] : content.settings.common) {
    text += fmt::format("<dt>{}</dt><dd><code>{}</code></dd>\n", key_html(key), html(value));
  }
  return text + "</dl></details>\n";
}

std::string files(const PageContent& content) {
  std::string text =
      "<h2>Files</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Files of "
      "the "
      "runs\">\n<table class=\"settings\">\n<caption class=\"hide\">Files of each run</caption>\n"
      "<tbody>\n";
  for (const Run& run : content.runs) {
    std::vector<std::string> links;
    for (const char* file : {"result.json", "metrics.jsonl", "resolved.yaml", "environment.json",
                             "run.log", "best.json"}) {
      const Path path = run.directory / file;
      if (std::filesystem::exists(file_status(path))) {
        links.push_back(link(path, content.directory, file));
      }
    }
    text += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", html(run.name),
                        fmt::join(links, " · "));
  }
  return text + "</tbody>\n</table>\n</div>\n";
}

double rounded(double value) {
  return std::stod(fmt::format("{:.{}g}", value, kDigits));
}

// The values that the script shows.
Json curves_json(const PageContent& content) {
  Json names = Json::array(), charts = Json::array();
  for (const Run& run : content.runs) names.push_back(run.name);
  for (const Chart& chart : content.charts) {
    Json curves = Json::array();
    for (const ChartCurve& curve : chart.curves) {
      Json points = Json::array();
      for (const Point& point : curve.points) {
        const Json value = std::isfinite(point.value) ? Json(rounded(point.value)) : Json(nullptr);
        points.push_back({std::llround(point.tokens), value});
      }
      curves.push_back({{"run", curve.run}, {"points", points}});
    }
    charts.push_back(
        {{"name", chart.name}, {"tokens_axis", chart.tokens_axis}, {"curves", curves}});
  }
  return {{"runs", names}, {"charts", charts}};
}

}  // namespace

std::string page_html(const PageContent& content) {
  const Json build = build_description();
  const std::string summary = counts_text(content.runs);
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
      "<title>Training report: {}</title>\n<style>",
      html(summary));
  text += kPageStyle;
  text += run_style(content.runs.size());
  text += fmt::format(
      "</style>\n</head>\n<body>\n<header>\n<h1>Training report</h1>\n<p class=\"soft\">{}. "
      "Made {}.</p>\n</header>\n<main>\n<h2>Results</h2>\n",
      html(summary), readable_time());
  text += results_table(content.runs, content.directory) + notes(content.runs);
  text += fmt::format(
      "<p class=\"files\">As files: <a href=\"{0}\">{0}</a> · <a href=\"{1}\">{1}</a></p>\n",
      "report.csv", "report.json");
  text += "<h2>Curves</h2>\n" + boxes(content.runs) + figures(content);
  text += settings(content) + files(content);
  text += fmt::format("</main>\n<footer>saddle {}, revision {}</footer>\n",
                      html(build.value("version", "")), html(build.value("revision", "unknown")));
  text += "<script type=\"application/json\" id=\"curves\">" + script_json(curves_json(content)) +
          "</script>\n<script>";
  text += kPageScript;
  return text + "</script>\n</body>\n</html>\n";
}

}  // namespace saddle::report
