// Draws each chart from the data beside it, again whenever the page becomes narrow or wide, light or dark.
const NARROW = window.matchMedia("(max-width: 640px)");
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const DARK_COLOURS = JSON.parse(document.getElementById("dark").textContent);

function chart(place) {
  const text = document.getElementById(`${place.id}-data`).textContent;
  const colours = DARK.matches ? Object.entries(DARK_COLOURS) : [];
  return JSON.parse(colours.reduce((found, [light, dark]) => found.replaceAll(`"${light}"`, `"${dark}"`), text));
}

function draw(place) {
  const {data, layout} = chart(place);
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
DARK.addEventListener("change", drawAll);
drawAll();
