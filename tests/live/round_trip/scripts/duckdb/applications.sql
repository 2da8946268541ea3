
## a store with generated columns and nested types
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')
;;
CREATE TABLE Customer (CustomerId INTEGER PRIMARY KEY, FirstName VARCHAR NOT NULL, Tags VARCHAR[], Address STRUCT(street VARCHAR, zip INTEGER), Mood mood)
;;
CREATE TABLE Line (Id INTEGER PRIMARY KEY, Price DECIMAL(10,2) CHECK (Price >= 0), Qty INTEGER, Total DECIMAL(12,2) GENERATED ALWAYS AS (Price * Qty))
;;
INSERT INTO Customer VALUES (1, 'Ann', ['a', 'b'], {'street': 's', 'zip': 7}, 'ok')
;;
INSERT INTO Line (Id, Price, Qty) VALUES (1, 2.50, 3)
== recorded
SELECT CustomerId, FirstName FROM Customer
;;
SELECT Tags, Address, Mood FROM Customer WHERE CustomerId = 1
;;
SELECT Id, Price, Qty, Total FROM Line
;;
-- fails
INSERT INTO Line (Id, Price, Qty) VALUES (2, -1, 1)
;;
-- params [2, "4.25", 2]
INSERT INTO Line (Id, Price, Qty) VALUES (?, ?, ?)
;;
SELECT sum(Price * Qty) FROM Line
;;
UPDATE Customer SET FirstName = 'Anna', Mood = 'happy' WHERE CustomerId = 1
;;
SELECT FirstName FROM Customer
