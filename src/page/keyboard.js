// The keyboard on the screen of a phone. Some browsers make the page smaller for it. Others put it over the page, and only tell.

/** Tells the style sheet how much of the page the keyboard covers, and keeps the field in sight that the person writes in. */
export function followKeyboard() {
  const visible = window.visualViewport;
  if (!visible) return;
  const tell = () => {
    const covered = Math.max(0, Math.round(innerHeight - visible.height - visible.offsetTop));
    // A little less is a toolbar of the browser, or a page that is zoomed in.
    document.documentElement.style.setProperty("--keyboard", `${visible.scale === 1 && covered > 80 ? covered : 0}px`);
  };
  const keepInSight = () => {
    tell();
    if (document.activeElement?.matches("textarea, input")) document.activeElement.scrollIntoView({ block: "nearest" });
  };
  visible.addEventListener("resize", keepInSight);
  visible.addEventListener("scroll", tell);
}
