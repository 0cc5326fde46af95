// Draws each chart from the data beside it, again whenever the page becomes narrow or wide.
const NARROW = window.matchMedia("(max-width: 640px)");

function draw(place) {
  const {data, layout} = JSON.parse(document.getElementById(`${place.id}-data`).textContent);
  const height = Number(NARROW.matches ? place.dataset.narrow : place.dataset.wide);
  place.style.height = `${height}px`;
  layout.height = height;
  for (const trace of data) {
    if (trace.type === "sankey" && NARROW.matches) {
      trace.orientation = "v"; // a narrow page has more room downwards
      trace.textfont = {size: 10};
      trace.node.pad = 56; // so that labels of thin nodes do not meet
      layout.margin.r = 56;
    }
  }
  Plotly.react(place, data, layout, {responsive: true, displayModeBar: false});
}

function drawAll() {
  document.querySelectorAll(".chart").forEach(draw);
}

NARROW.addEventListener("change", drawAll);
drawAll();
