
## an Odoo-like partner table
CREATE TABLE res_company (id SERIAL PRIMARY KEY, name VARCHAR NOT NULL)
;;
CREATE TABLE res_partner (id SERIAL PRIMARY KEY, company_id INTEGER REFERENCES res_company (id) ON DELETE SET NULL, create_date TIMESTAMP WITHOUT TIME ZONE, name VARCHAR, "ref" VARCHAR, active BOOLEAN, credit_limit DOUBLE PRECISION, color INTEGER, type VARCHAR, comment JSONB, write_uid INTEGER, CONSTRAINT res_partner_check_name CHECK ((type = 'contact' AND name IS NOT NULL) OR type <> 'contact'))
;;
CREATE INDEX res_partner_name_index ON res_partner USING btree (name)
;;
CREATE UNIQUE INDEX res_partner_ref_unique ON res_partner ("ref") WHERE active
;;
INSERT INTO res_company (name) VALUES ('My Company')
;;
INSERT INTO res_partner (company_id, create_date, name, "ref", active, credit_limit, type) VALUES (1, '2024-01-02 03:04:05', 'Azure', 'R1', true, 100.5, 'contact')
== recorded
SELECT "res_partner"."id" AS "id", "res_partner"."name" AS "name" FROM "res_partner" WHERE ((("res_partner"."active" = true) AND ("res_partner"."type" != 'private')) OR "res_partner"."type" IS NULL) ORDER BY "res_partner"."name" LIMIT 80
;;
-- params ["Gemini", "R2", "{\"en_US\": \"text\"}"]
INSERT INTO "res_partner" ("name", "ref", "comment", "active", "type", "create_date") VALUES (%s, %s, %s, true, 'contact', '2024-02-03 04:05:06') RETURNING "id"
;;
UPDATE "res_partner" SET "color" = "__tmp"."color"::int4, "write_uid" = "__tmp"."uid"::int4 FROM (VALUES (1, 5, 2)) AS "__tmp"("id", "color", "uid") WHERE "res_partner"."id" = "__tmp"."id"
;;
SELECT id, color, write_uid FROM res_partner ORDER BY id
;;
-- fails
INSERT INTO res_partner (name, "ref", active, type) VALUES ('x', 'R1', true, 'contact')
;;
-- fails
INSERT INTO res_partner ("ref", type) VALUES ('R3', 'contact')
;;
SELECT "comment"->>'en_US' FROM res_partner WHERE name ILIKE '%GEM%'
;;
DELETE FROM res_company WHERE id IN (1)
;;
SELECT company_id FROM res_partner WHERE id = 1
## a Prisma-like shop
CREATE TYPE "Role" AS ENUM ('USER', 'ADMIN')
;;
CREATE TABLE "User" ("id" TEXT NOT NULL, "email" TEXT NOT NULL, "role" "Role" NOT NULL DEFAULT 'USER', "tags" TEXT[], "createdAt" TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, CONSTRAINT "User_pkey" PRIMARY KEY ("id"))
;;
CREATE TABLE "Order" ("id" SERIAL NOT NULL, "userId" TEXT NOT NULL, "total" DECIMAL(65,30) NOT NULL, "meta" JSONB, CONSTRAINT "Order_pkey" PRIMARY KEY ("id"))
;;
CREATE UNIQUE INDEX "User_email_key" ON "User"("email")
;;
ALTER TABLE "Order" ADD CONSTRAINT "Order_userId_fkey" FOREIGN KEY ("userId") REFERENCES "User"("id") ON DELETE RESTRICT ON UPDATE CASCADE
;;
INSERT INTO "User" ("id", "email", "tags") VALUES ('u1', 'a@x', '{}')
== recorded
-- params ["u2", "b@x"]
INSERT INTO "User" ("id","email") VALUES (%s,%s) RETURNING "User"."id", "User"."email", "User"."role"::text
;;
BEGIN
;;
-- params ["u1", "19.99"]
INSERT INTO "Order" ("userId","total") VALUES (%s,%s) RETURNING "Order"."id"
;;
UPDATE "User" SET "role" = CAST('ADMIN'::text AS "Role") WHERE ("User"."id" = 'u1' AND 1=1)
;;
COMMIT
;;
SELECT "User"."id", "User"."role"::text, COALESCE("aggr"."_count", 0) AS "orders" FROM "User" LEFT JOIN (SELECT "userId", COUNT(*) AS "_count" FROM "Order" WHERE 1=1 GROUP BY "userId") AS "aggr" ON ("User"."id" = "aggr"."userId") WHERE 1=1 ORDER BY "User"."id" ASC LIMIT 10 OFFSET 0
;;
-- fails
DELETE FROM "User" WHERE "id" = 'u1'
;;
UPDATE "User" SET "id" = 'u9' WHERE "id" = 'u1'
;;
SELECT "userId", "total" FROM "Order"
