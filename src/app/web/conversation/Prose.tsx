import { type Paragraph, readProse, type Span } from "../prose.js";

/** What the assistant wrote, lightly set. Elements are made of values; no text is ever parsed as HTML. */
export function Prose({ text }: { text: string }) {
  return <div class="prose">{readProse(text).map(paragraph)}</div>;
}

function paragraph(given: Paragraph, key: number) {
  switch (given.type) {
    case "paragraph":
      return <p key={key}>{given.spans.map(span)}</p>;
    case "heading":
      return (
        <p key={key} class="heading">
          {given.spans.map(span)}
        </p>
      );
    case "quote":
      return <blockquote key={key}>{given.spans.map(span)}</blockquote>;
    case "code":
      return (
        <pre key={key} data-label={given.label || undefined}>
          <code>{given.text}</code>
        </pre>
      );
    case "list": {
      const items = given.items.map((item, index) => <li key={index}>{item.map(span)}</li>);
      return given.ordered ? (
        <ol key={key} start={given.start}>
          {items}
        </ol>
      ) : (
        <ul key={key}>{items}</ul>
      );
    }
    case "rule":
      return <hr key={key} />;
  }
}

function span(given: Span, key: number) {
  switch (given.type) {
    case "text":
      return given.text;
    case "code":
      return <code key={key}>{given.text}</code>;
    case "strong":
      return <strong key={key}>{given.text}</strong>;
    case "em":
      return <em key={key}>{given.text}</em>;
    case "link":
      return (
        <a key={key} href={given.href} target="_blank" rel="noopener noreferrer">
          {given.text}
        </a>
      );
  }
}
