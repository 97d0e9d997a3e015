#include "report/page_parts.h"

namespace saddle::report {

const std::string_view kPageScript = R"js(
(() => {
  const data = JSON.parse(document.getElementById("curves").textContent);
  const number = (value) => value === null ? "not finite" :
    Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString("en") : value.toPrecision(5);
  const near = 0.03;  // of the axis
  const shown = (run) => document.getElementById("show-" + run)?.checked ?? true;
  const nearest = (points, tokens) => {
    let best = null;
    for (const point of points) {
      if (best === null || Math.abs(point[0] - tokens) < Math.abs(best[0] - tokens)) best = point;
    }
    return best;
  };
  for (const chart of data.charts) {
    const plot = document.querySelector("#" + chart.name + " .plot");
    if (plot === null) continue;
    const under = plot.appendChild(document.createElement("div"));
    const values = plot.appendChild(document.createElement("div"));
    under.className = "under";
    values.className = "values";
    const hide = () => { under.hidden = values.hidden = true; };
    hide();
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const share = Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
      const tokens = share * chart.tokens_axis;
      values.replaceChildren();
      const head = values.appendChild(document.createElement("div"));
      head.textContent = Math.round(tokens).toLocaleString("en") + " tokens";
      for (const curve of chart.curves) {
        const point = nearest(curve.points, tokens);
        if (!shown(curve.run) || point === null) continue;
        if (Math.abs(point[0] - tokens) > near * chart.tokens_axis) continue;  // it ended earlier
        const row = values.appendChild(document.createElement("div"));
        const sample = document.querySelector(".for-" + curve.run + " .sample");
        if (sample !== null) row.append(sample.cloneNode(true));
        row.append(data.runs[curve.run]);
        row.appendChild(document.createElement("b")).textContent = number(point[1]);
      }
      under.hidden = values.hidden = false;
      under.style.left = share * 100 + "%";
      values.style.left = share < 0.5 ? share * 100 + 2 + "%" : "auto";
      values.style.right = share < 0.5 ? "auto" : (1 - share) * 100 + 2 + "%";
    });
  }
})();
)js";

}  // namespace saddle::report
