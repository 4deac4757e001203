-- The tables of the shop that pays, for MariaDB and MySQL: mariadb shop <schema.sql

CREATE TABLE product (
    id INT UNSIGNED PRIMARY KEY,
    stock INT UNSIGNED NOT NULL,
    token BIGINT NOT NULL DEFAULT 0     -- the largest that the row was shown
) ENGINE = InnoDB;

CREATE TABLE purchase (
    product INT UNSIGNED NOT NULL,
    -- The default collations find aB's row for Ab.
    buyer VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    -- Of the order, chosen by the buyer's client.
    number VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    state ENUM('reserved', 'paid', 'cancelled') NOT NULL DEFAULT 'reserved',
    reserved_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (product, buyer, number)
) ENGINE = InnoDB;

INSERT INTO product (id, stock) VALUES (42, 100);
