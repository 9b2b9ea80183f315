// xterm.js writes its rules into <style> elements and true colours into style attributes. Our policy allows neither, for
// both could come from a page's text. The same rules by the object model are allowed: they can only come from a script.

let done = false;

/** From now on, style elements that scripts make become adopted sheets, and style attributes declarations. */
export function underPolicy(): void {
  if (done) return;
  done = true;
  const create = document.createElement.bind(document) as (name: string, options?: ElementCreationOptions) => HTMLElement;
  document.createElement = ((name: string, options?: ElementCreationOptions) => {
    if (name.toLowerCase() !== "style") return create(name, options);
    // Even an empty style element is a violation.
    const element = create("span");
    element.hidden = true;
    adopt(element);
    return element;
  }) as typeof document.createElement;
  const set = Element.prototype.setAttribute;
  Element.prototype.setAttribute = function (name: string, value: string): void {
    if (name === "style" && this instanceof HTMLElement) this.style.cssText = value;
    else set.call(this, name, value);
  };
}

function adopt(element: HTMLElement): void {
  const sheet = new CSSStyleSheet();
  let text = "";
  const rules = {
    get: () => text,
    set: (value: string) => {
      text = value ?? "";
      sheet.replaceSync(text);
      if (!document.adoptedStyleSheets.includes(sheet)) document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    },
  };
  Object.defineProperties(element, { textContent: rules, innerText: rules });
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    remove();
  };
}
