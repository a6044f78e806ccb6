import { z } from "zod";
import type { ErasureResult, PersonResult } from "../../../gateway/index.js";
import { Erasure, NewPerson, Person, PersonPatch } from "../../../message/index.js";
import { listOf } from "../paging.js";
import { invalid, Problem, unknown } from "../problem.js";
import { type Answer, ok, type Route, route } from "../route.js";

/** Who is who: one human behind several sender ids. */
export const peopleRoutes: Route[] = [
  route({
    method: "GET",
    path: "/v1/people",
    summary: "All people",
    scope: "operate",
    answers: { status: 200, schema: listOf("people", Person) },
    handle: async ({ gateway }) => ok({ people: await gateway.read.people(), next: null }),
  }),
  route({
    method: "POST",
    path: "/v1/people",
    summary: "Add a person",
    scope: "operate",
    body: NewPerson,
    answers: { status: 201, schema: Person },
    handle: async ({ gateway }, { body }) => personAnswer(await gateway.addPerson(body), 201),
  }),
  route({
    method: "GET",
    path: "/v1/people/:id",
    summary: "One person",
    scope: "operate",
    answers: { status: 200, schema: Person },
    handle: async ({ gateway }, { params }) => {
      const person = await gateway.person(params.id ?? "");
      if (!person) throw unknown("person");
      return ok(person);
    },
  }),
  route({
    method: "PATCH",
    path: "/v1/people/:id",
    summary: "Change a person's name or sender ids",
    scope: "operate",
    body: PersonPatch,
    answers: { status: 200, schema: Person },
    handle: async ({ gateway }, { params, body }) =>
      personAnswer(await gateway.changePerson(params.id ?? "", body), 200),
  }),
  route({
    method: "DELETE",
    path: "/v1/people/:id",
    summary: "Forget who is who; what they said stays",
    scope: "operate",
    answers: { status: 204, schema: null },
    handle: async ({ gateway }, { params }) => {
      if (!(await gateway.removePerson(params.id ?? ""))) throw unknown("person");
      return { status: 204 };
    },
  }),
  route({
    method: "POST",
    path: "/v1/people/:id/link",
    summary: "A one-time code that opens the web page as this person",
    scope: "operate",
    answers: { status: 201, schema: z.object({ code: z.string() }) },
    handle: async ({ gateway, tokens }, { params }) => {
      const person = await gateway.person(params.id ?? "");
      if (!person) throw unknown("person");
      return ok({ code: await tokens.loginCode(person) }, 201);
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/senders/:id",
    summary: "Erase a person: what they said, were called and attached. Nothing brings it back",
    scope: "admin",
    answers: { status: 200, schema: Erasure },
    handle: async ({ gateway }, { params }) => erasureAnswer(await gateway.eraseSender(params.id ?? "")),
  }),
];

function erasureAnswer(result: ErasureResult): Answer {
  switch (result.status) {
    case "erased":
      return ok(result.erasure);
    case "unknown":
      throw unknown("sender");
    case "invalid":
      throw invalid(result.errors);
  }
}

function personAnswer(result: PersonResult, status: number): Answer {
  switch (result.status) {
    case "ok":
      return ok(result.person, status);
    case "unknown":
      throw unknown("person");
    case "invalid":
      throw invalid(result.errors);
    case "conflict":
      throw new Problem(409, result.why);
  }
}
