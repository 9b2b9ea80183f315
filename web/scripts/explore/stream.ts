// Server-sent events as the answer to a POST.

export interface Event {
  name: string;
  data: unknown;
}

/** The events of a response, one by one. */
export async function* events(answer: Response): AsyncGenerator<Event> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) return;
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      for (let at = rest.search(/\r?\n\r?\n/); at >= 0; at = rest.search(/\r?\n\r?\n/)) {
        const block = rest.slice(0, at);
        rest = rest.slice(at).replace(/^\r?\n\r?\n/, "");
        const one = parse(block);
        if (one) yield one;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parse(block: string): Event | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (!data.length) return null;
  try {
    return { name, data: JSON.parse(data.join("\n")) as unknown };
  } catch {
    return null;
  }
}
