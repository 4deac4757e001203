-- The tables of the shop, for MariaDB and MySQL: mariadb shop <schema.sql

CREATE TABLE product (
    id INT UNSIGNED PRIMARY KEY,
    stock INT UNSIGNED NOT NULL,
    token BIGINT NOT NULL DEFAULT 0     -- the largest that the row was shown
) ENGINE = InnoDB;

CREATE TABLE purchase (
    id BIGINT PRIMARY KEY AUTO_INCREMENT,
    product INT UNSIGNED NOT NULL,
    -- The default collations find aB's row for Ab.
    buyer VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    -- Of the order, chosen by the buyer's client.
    number VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    token BIGINT NOT NULL,
    UNIQUE (product, buyer, number)     -- an order that is sent again is carried out once
) ENGINE = InnoDB;

INSERT INTO product (id, stock) VALUES (42, 100);
