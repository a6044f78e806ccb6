import { useEffect, useState } from "preact/hooks";
import type { Chat } from "../../../message/index.js";
import type { Page, State } from "../state.js";

type Props = { page: Page; state: State; chat: Chat | null };
type Loaded = typeof import("./Sheets.js");

const load = (): Promise<Loaded> => import("./Sheets.js");

/** Nobody opens a sheet first: they are fetched once the notebook stands, so that it stands sooner. */
export function SheetsLater(props: Props) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const { page } = props;
  const wanted = props.state.sheet !== null;
  useEffect(() => {
    if (loaded) return;
    load().then(setLoaded, () => {
      if (page.state().sheet === null) return;
      const text = "This could not be fetched. If the server was updated, load the page again.";
      page.set({ sheet: null, remark: { text, failed: true } });
    });
  }, [page, loaded, wanted]);
  return loaded && <loaded.Sheets {...props} />;
}
