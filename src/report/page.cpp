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

// The colours and dashes of the runs, and the rules by which a box hides a run's curves.
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
  for (const auto& [status, count] : counts)
    parts.push_back(fmt::format("{} {}", count, name(status)));
  return fmt::format("{} {}: {}", runs.size(), runs.size() == 1 ? "run" : "runs",
                     fmt::join(parts, ", "));
}

// The run with the least finite value, when several have one.
size_t best_run(const Column& column, const std::vector<Run>& runs) {
  size_t best = runs.size(), count = 0;
  for (size_t i = 0; i < runs.size(); ++i) {
    const Number value = column.value(runs[i]);
    if (!value || !std::isfinite(*value)) continue;
    ++count;
    if (best == runs.size() || *value < *column.value(runs[best])) best = i;
  }
  return count > 1 ? best : runs.size();
}

std::string results_table(const std::vector<Run>& runs, const Path& directory) {
  const std::vector<Column> shown = columns(runs);
  std::string head =
      "<th scope=\"col\">run</th><th scope=\"col\">state</th><th scope=\"col\">step</th>";
  std::vector<size_t> best;
  for (const Column& column : shown) {
    head += fmt::format("<th scope=\"col\" title=\"{}\">{}</th>", html(column.meaning),
                        html(column.title));
    best.push_back(column.lower_is_better ? best_run(column, runs) : runs.size());
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
      const char* kind = best[k] == i ? " class=\"best\"" : text == "-" ? " class=\"none\"" : "";
      body += fmt::format("<td{}>{}{}</td>", kind, text == "-" ? "\u2013" : html(text),
                          best[k] == i ? "<span class=\"hide\"> (lowest)</span>" : "");
    }
    body += "</tr>\n";
  }
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Results, a table that "
      "scrolls\">\n<table class=\"results\">\n<caption class=\"hide\">Where each run ended or "
      "stands "
      "now</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody>\n</table>\n</div>\n",
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
  std::string text = "<fieldset class=\"shown\"><legend>Runs that are drawn</legend>\n";
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
    if (!links.empty()) text += fmt::format("<p class=\"files\">{}</p>\n", fmt::join(links, " · "));
    text += "</figure>\n";
  }
  return text + "</div>\n";
}

std::string group_rows(const std::vector<DifferingSetting>& settings, bool decides_numbers,
                       size_t runs, const char* title) {
  std::string rows;
  for (const DifferingSetting& setting : settings) {
    if (setting.decides_numbers != decides_numbers) continue;
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", html(setting.key));
    for (const std::string& value : setting.values) {
      rows += value.empty() ? "<td class=\"none\">–</td>"
                            : fmt::format("<td><code>{}</code></td>", html(value));
    }
    rows += "</tr>\n";
  }
  if (rows.empty()) return rows;
  return fmt::format("<tr class=\"group\"><th colspan=\"{}\" scope=\"colgroup\">{}</th></tr>\n{}",
                     runs + 1, title, rows);
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
        "differ between the runs</caption>\n<thead><tr><th scope=\"col\">setting</th>";
    for (size_t i = 0; i < content.runs.size(); ++i) {
      text +=
          fmt::format("<th scope=\"col\">{}{}</th>", line_sample(i), html(content.runs[i].name));
    }
    text += "</tr></thead>\n<tbody>\n";
    text += group_rows(differing, true, content.runs.size(), "decide the numbers of a run");
    text += group_rows(differing, false, content.runs.size(), "place, speed and records");
    text += "</tbody>\n</table>\n</div>\n";
  }
  if (content.settings.common.empty()) return text;
  text += fmt::format(
      "<details><summary>{} settings and records that all have in common</summary>\n<dl>\n",
      content.settings.common.size());
  for (const auto& [key, value] : content.settings.common) {
    text += fmt::format("<dt>{}</dt><dd><code>{}</code></dd>\n", html(key), html(value));
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

// What the script shows.
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
