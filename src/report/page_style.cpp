#include "report/page_parts.h"

namespace saddle::report {

const std::string_view kPageStyle = R"css(
:root {
  color-scheme: light dark;
  --paper: #fdfdfc; --card: #ffffff; --ink: #1c1e21; --soft: #5c6167; --line: #dfe1e4;
  --grid: #e9ebed; --shade: rgb(0 0 0 / 20%);
  --accent: #00568a; --best: #e3f1ea; --good: #1c6b4a; --bad: #a63a00;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171a; --card: #1c1f23; --ink: #e6e7e9; --soft: #a3a9b0; --line: #363b41;
    --grid: #2a2e33; --shade: rgb(0 0 0 / 65%);
    --accent: #7cc4f2; --best: #1d3a30; --good: #5fd0a2; --bad: #ff9d66;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2rem clamp(1rem, 4vw, 3rem) 4rem; max-width: 88rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
}
a { color: var(--accent); text-underline-offset: 0.15em; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 0.25rem; letter-spacing: -0.01em; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 0.75rem; }
h3 { font-size: 1rem; margin: 0; }
h3 small { color: var(--soft); font-weight: 400; font-size: 0.85rem; margin-left: 0.35rem; }
p { margin: 0 0 0.75rem; max-width: 75ch; }
.soft, .about, caption, .files, dt { color: var(--soft); }
.about { font-size: 0.85rem; margin: 0.5rem 0 0; }
.hide { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }

.scroll { position: relative; overflow-x: auto; border: 1px solid var(--line); border-radius: 8px;
  /* A shade at a side beyond which there is more. */
  background:
    linear-gradient(var(--card), var(--card)) left / 2rem 100% no-repeat local,
    linear-gradient(var(--card), var(--card)) right / 2rem 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) left / 0.9rem 100% no-repeat,
    linear-gradient(to left, var(--shade), transparent) right / 0.9rem 100% no-repeat,
    var(--card); }
.scroll:focus-visible, summary:focus-visible, a:focus-visible, input:focus-visible + label {
  outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px;
}
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: 0.875rem;
  font-variant-numeric: tabular-nums; }
th, td { padding: 0.5rem 0.6rem; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--line); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
thead th { font-weight: 600; color: var(--soft); font-size: 0.8rem; line-height: 1.25;
  vertical-align: bottom; white-space: normal; }
.settings thead th { min-width: 6.5rem; max-width: 16rem; overflow-wrap: break-word; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0;
  background: var(--card); z-index: 1; }
th:nth-child(2), td:nth-child(2) { text-align: left; }
tbody th { font-weight: 600; }
.settings th, .settings td { text-align: left; }
td.best { background: var(--best); font-weight: 600; }
td.none { color: var(--soft); }
td code, dd code { font: 0.85em ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  overflow-wrap: anywhere; }
.settings code { white-space: pre-wrap; }
.settings td { min-width: 5rem; max-width: 24rem; white-space: normal; }
tr.group th { position: static; background: var(--paper); color: var(--soft); font-size: 0.8rem;
  font-weight: 600; }
.state::before { content: "\25CF\00A0"; }
.finished::before { color: var(--good); }
.running::before { content: "\25B6\00A0"; color: var(--accent); }
.stopped::before { content: "\25A0\00A0"; color: var(--soft); }
.failed::before, .unreadable::before { content: "\2716\00A0"; color: var(--bad); }
.notes { margin: 0.75rem 0 0; padding: 0; list-style: none; font-size: 0.9rem; }
.notes li { margin: 0.25rem 0; overflow-wrap: anywhere; }

.charts { display: grid; gap: 1.25rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr)); }
figure { margin: 0; padding: 1rem 1.1rem; border: 1px solid var(--line); border-radius: 8px;
  background: var(--card); min-width: 0; }
.plot { position: relative; height: 20rem; margin: 0.75rem 0.5rem 2.4rem 3.4rem; }
.plot > svg { position: absolute; inset: 0; width: 100%; height: 100%; overflow: hidden;
  border-left: 1px solid var(--soft); border-bottom: 1px solid var(--soft); }
.plot path { fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; }
.grid { stroke: var(--grid); stroke-width: 1; }
.curve path { stroke: var(--run); stroke-width: 1.9; stroke-linecap: butt; }
.curve .single { stroke-width: 1; stroke-dasharray: none !important; opacity: 0.28; }
.curve .dots { stroke-width: 6; stroke-linecap: round; stroke-dasharray: none !important; }
.ring path { stroke-linecap: round; }
.ring .outer { stroke: var(--run); stroke-width: 13; }
.ring .inner { stroke: var(--card); stroke-width: 8; }
.labels span { position: absolute; font-size: 0.75rem; color: var(--soft); line-height: 1;
  white-space: nowrap; font-variant-numeric: tabular-nums; }
.labels .y { right: 100%; transform: translate(-0.4rem, -50%); }
.labels .x { top: 100%; transform: translate(-50%, 0.45rem); }
.labels .axis { top: 100%; right: 0; transform: translate(0, 1.4rem); }
.legend { display: flex; flex-wrap: wrap; gap: 0.1rem 1rem; font-size: 0.85rem; }
.legend label { display: inline-flex; align-items: center; gap: 0.4rem; padding: 0.2rem 0;
  cursor: pointer; overflow-wrap: anywhere; }
.sample { width: 2.1rem; height: 0.65rem; flex: none; }
.sample path { stroke: var(--run); stroke-width: 2.2; fill: none; }
th .sample { vertical-align: baseline; margin-right: 0.5rem; }
.files { font-size: 0.85rem; margin-top: 0.6rem; }
figure .files { margin: 0.35rem 0 0; }
.shown { min-width: 0; border: 1px solid var(--line); border-radius: 8px;
  padding: 0.5rem 0.9rem 0.6rem;
  margin: 0 0 1.25rem; display: flex; flex-wrap: wrap; gap: 0.15rem 1.2rem; font-size: 0.9rem; }
.shown legend { color: var(--soft); font-size: 0.8rem; padding: 0 0.35rem; }
.shown span { display: inline-flex; align-items: center; gap: 0.4rem; padding: 0.3rem 0; }
.shown input { accent-color: var(--accent); width: 1rem; height: 1rem; margin: 0; flex: none; }
.shown label { overflow-wrap: anywhere; }
.empty { color: var(--soft); padding: 2rem 0; text-align: center; max-width: none; }
.under { position: absolute; top: 0; bottom: 0; width: 0; border-left: 1px solid var(--soft);
  pointer-events: none; }
.values { position: absolute; top: 0.4rem; z-index: 2; padding: 0.4rem 0.6rem; font-size: 0.8rem;
  background: var(--card); border: 1px solid var(--line); border-radius: 6px; pointer-events: none;
  box-shadow: 0 2px 8px rgb(0 0 0 / 18%); font-variant-numeric: tabular-nums; max-width: 80%; }
.values div { display: flex; gap: 0.5rem; align-items: center; }
.values b { margin-left: auto; padding-left: 0.75rem; font-weight: 600; }

details { border: 1px solid var(--line); border-radius: 8px; background: var(--card);
  margin-top: 1rem; }
summary { padding: 0.6rem 0.9rem; cursor: pointer; font-weight: 600; }
dl { display: grid; grid-template-columns: minmax(10rem, max-content) minmax(0, 1fr);
  gap: 0.15rem 1.25rem; margin: 0; padding: 0.25rem 0.9rem 0.9rem; font-size: 0.85rem; }
dt, dd { margin: 0; overflow-wrap: anywhere; }
footer { overflow-wrap: anywhere; margin-top: 3rem; font-size: 0.85rem; color: var(--soft); }

@media (max-width: 40rem) {
  body { padding-top: 1.25rem; }
  h1 { font-size: 1.45rem; }
  th, td { padding: 0.45rem 0.6rem; }
  .results th:first-child, .settings tbody th:first-child {
    min-width: 8.5rem; max-width: 45vw; white-space: normal; overflow-wrap: anywhere; }
  .results th .sample { display: block; margin-bottom: 0.2rem; }
  figure { padding: 0.9rem 0.8rem; }
  .plot { height: 15rem; margin-left: 2.9rem; }
  dl { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dd { margin-bottom: 0.4rem; }
}
@media (prefers-reduced-motion: no-preference) { .curve { transition: opacity 0.15s; } }
@media print {
  @page { size: A4 landscape; margin: 12mm; }
  :root {
    color-scheme: light;
    --paper: #fff; --card: #fff; --ink: #000; --soft: #444; --line: #bbb; --grid: #e4e4e4;
    --accent: #000; --best: #eee; --good: #000; --bad: #000;
  }
  body { padding: 0; max-width: none; font-size: 10pt;
    -webkit-print-color-adjust: exact; print-color-adjust: exact; }
  .scroll { overflow: visible; border: 0; background: none; }
  table { font-size: 7.5pt; }
  th, td { padding: 2pt 4pt; }
  .results tbody th { white-space: normal; overflow-wrap: anywhere; min-width: 30mm; }
  th:first-child, td:first-child { position: static; }
  figure, tr, li { break-inside: avoid; }
  h2 { break-after: avoid; }
  .charts { grid-template-columns: 1fr 1fr; gap: 4mm; }
  .plot { height: 62mm; }
  .shown, .under, .values { display: none; }
  details::details-content { content-visibility: visible; height: auto; }
  dl { columns: 2; display: block; font-size: 7.5pt; }
  dt, dd { display: inline; }
  dt::after { content: ": "; }
  dd::after { content: "\A"; white-space: pre; }
  a { text-decoration: none; }
}
)css";

}  // namespace saddle::report
