// Under each figure: a link that saves it as SVG, with colours that need no page.
for (const figure of document.querySelectorAll("figure")) {
  const picture = figure.querySelector("svg"), place = figure.querySelector(".take");
  if (!picture || !place) continue;
  const link = document.createElement("a");
  link.textContent = "SVG";
  link.download = (figure.id || "figure") + ".svg";
  link.href = "#" + figure.id;
  link.addEventListener("click", () => {
    const text = new XMLSerializer().serializeToString(picture)
      .replace(/var\(--[\w-]+, (#\w+)\)/g, "$1").replace(/currentColor/g, "#1d2126");
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
  place.prepend(link, " ");
}
// What a link leads to is opened where it is folded away.
const unfold = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", unfold);
unfold();
