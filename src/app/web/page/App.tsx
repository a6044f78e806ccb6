import { useEffect, useState } from "preact/hooks";
import { ApiProblem } from "../../client/index.js";
import { enterWithCode, session, takeCode } from "../session.js";
import { Book } from "./Book.js";
import { Door } from "./Door.js";

type Entering = { token: string | null; waiting: boolean; why: string | null };

/** The notebook for whoever has a token; otherwise the door, which says how to get one. */
export function App() {
  const [entering, setEntering] = useState<Entering>({ token: session.token(), waiting: true, why: null });

  useEffect(() => {
    const code = takeCode();
    if (code === null) return setEntering((old) => ({ ...old, waiting: false }));
    enterWithCode(code).then(
      (token) => setEntering({ token, waiting: false, why: null }),
      // A link clicked twice is no harm to somebody who is already in.
      (error: unknown) => setEntering({ token: session.token(), waiting: false, why: explain(error) }),
    );
  }, []);

  const enter = (token: string): void => {
    session.keepToken(token);
    session.keepPerson(null);
    setEntering({ token, waiting: false, why: null });
  };
  const leave = (): void => {
    session.keepToken(null);
    setEntering({ token: null, waiting: false, why: "The token this browser had is no longer accepted." });
  };

  if (entering.waiting) return null;
  if (entering.token === null) return <Door why={entering.why} onToken={enter} />;
  return <Book key={entering.token} token={entering.token} onRefused={leave} />;
}

function explain(error: unknown): string {
  if (error instanceof ApiProblem && error.status === 401)
    return "That link has been used already, or is too old.";
  return error instanceof ApiProblem ? error.message : "The server cannot be reached.";
}
